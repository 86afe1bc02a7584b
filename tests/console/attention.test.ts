import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import { beforeEach, describe, expect, test } from 'vitest';
import { fieldsOf, openConsole, type Shown } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { received, waitingEvent } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest } = account;
const { query } = database;
const apiBase = account.environment.STRIPE_API_BASE ?? '';
const pages = await openConsole(database, { apiBase });

const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

beforeEach(account.empty);

const park = (...customerIds: string[]) => ingest(customerIds.map((id) => waitingEvent(id)));

const ODD = JSON.stringify({
  ...{ id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } },
});
const deliverUnreadable = () => ingest([received(ODD, Date.now())]);

const newTeam = (name: string, customerId: string | null = null) =>
  addTeam(query, { name, customerId });

type Arranged = {
  /** Whether the subscription has been canceled at Stripe since. */
  readonly isMissed?: boolean;
  /** The second of its events, if nothing shows which of them came last. */
  readonly unknownOrderSecond?: number;
};

/** A team that follows a subscription. */
async function arrange(
  name: string,
  { isMissed = false, unknownOrderSecond }: Arranged = {},
): Promise<ApplicationId> {
  const customerId = `cus_${name}`;
  const teamId = await newTeam(name, customerId);
  const fields = { customerId, subscriptionId: `sub_${name}`, productId: 'prod_pro' };
  const createdSeconds = unknownOrderSecond ?? secondsAgo(600);
  if (unknownOrderSecond !== undefined) {
    await account.happen({ ...fields, createdSeconds, status: 'unpaid' });
  }
  await account.happen({ ...fields, createdSeconds });
  if (isMissed) {
    const end = { status: 'canceled', createdSeconds: secondsAgo(60) };
    await account.happen({ ...fields, ...end }, 'missed');
  }
  return teamId;
}

async function changeByHand(teamId: ApplicationId): Promise<void> {
  await query("update teams set subscription_status = 'trialing' where id = $1", [teamId]);
  await account.compare();
}

const planOf = async (teamId: ApplicationId) => (await account.planOf(teamId))?.plan;
const customersOf = async (teamIds: readonly ApplicationId[]) =>
  await Promise.all(teamIds.map(async (id) => (await account.planOf(id))?.customerId));
const list = async (path = '/attention') => (await pages.get(path)).text;

type Fields = readonly (readonly [name: string, value: string])[];

const rows = (subjects: readonly string[]) => subjects.map((subject) => ['row', subject] as const);

/** Sends a form of the list, in which a field can occur more than once, and confirms it if it asks. */
async function send(fields: Fields): Promise<Shown> {
  const form = [['back', '/attention'], ...fields] as const;
  const shown = await pages.post('/actions', form);
  if (shown.url !== '/actions') return shown;
  return await pages.post('/actions', [...form, ['confirmed', 'yes']]);
}

const linkRow = (subject: string, to: string) =>
  send([
    ['one', `link ${subject}`],
    [`link ${subject}`, to],
  ]);

/** Presses the button on a page with results that reverses them. */
const reverse = async ({ html }: Shown, action: string) =>
  await pages.post('/actions', fieldsOf(html, action));

const EMPTY = 'No team needs attention';

describe('the list', () => {
  test('has a row for each kind of problem, with its time, reason and button', async () => {
    await park('cus_parked');
    await changeByHand(await arrange('ByHand', { unknownOrderSecond: secondsAgo(1_200) }));
    await arrange('Missed', { isMissed: true });
    await newTeam('Unknown', 'cus_unknown');
    await arrange('Twice');
    const other = { customerId: 'cus_Twice', subscriptionId: 'sub_other', productId: 'prod_base' };
    await account.happen({ ...other, createdSeconds: secondsAgo(60) });
    await account.compare();
    await deliverUnreadable();
    const { html, text, hrefOf } = await pages.get('/attention');
    // The most severe kinds come first.
    const tones = [...html.matchAll(/"Why"><span class="badge (\w+)"/g)].map(([, tone]) => tone);
    expect(tones).toEqual(['bad', 'bad', ...Array(5).fill('warning')]);
    for (const row of [
      /Missed team \d+ cus_Missed .* ago out of sync .* → no plan \(canceled\) .*Repair/,
      /ByHand team \d+ cus_ByHand .* ago changed by hand .* \(trialing\) → \S+ Repair/,
      /Unknown team \d+ cus_unknown .* ago unknown customer .* Link team/,
      /cus_parked .* ago waiting for a team .* paid 60 min without a plan.* Pro \. Link team/,
      /charged twice Stripe charges the customer for 2 subscriptions: .*sub_other[^.]*\. The team has this one\./,
      /unknown order .* sub_ByHand .* Compare/,
      /evt_odd .* ago unreadable event data\.object: .* Replay/,
    ]) {
      expect(text).toMatch(row);
    }
    expect(hrefOf('Unreadable event (1)')).toBe('/attention?issue=unreadable-event');
  });

  test('has the first 200 and says that there are more, of one kind or of all', async () => {
    await park(...Array.from({ length: 200 }, (_, index) => `cus_${index}`));
    await changeByHand(await arrange('ByHand'));
    const all = await pages.get('/attention?select=all');
    expect(all.html.match(/name="row" value="[^"]*" checked/g)).toHaveLength(200);
    expect(all.text).toContain('ByHand');
    expect(all.text).toContain('There are more');
    const parked = await pages.get('/attention?issue=parked-events');
    expect(parked.html.match(/name="row"/g)).toHaveLength(200);
    expect(parked.text).not.toMatch(/ByHand|There are more/);
    const exported = (await pages.get('/attention?format=csv')).html.trimEnd().split('\r\n');
    expect(exported).toHaveLength(202);
  });

  test('takes at most four round trips in sequence, with every kind of issue', async () => {
    for (const name of ['One', 'Two']) await changeByHand(await arrange(name));
    await park('cus_1');
    await ingest([waitingEvent('cus_2', await newTeam('Named'))]);
    await query(`update instep.events set outcome = 'unreadable', customer_id = null
                  where customer_id = 'cus_Two'`);
    let underWay = 0;
    let roundTrips = 0;
    const counting: typeof query = async (statement, values) => {
      if (underWay === 0) roundTrips += 1;
      underWay += 1;
      try {
        return await query(statement, values);
      } finally {
        // What waits for several statements goes on only after all of them.
        await sleep(50);
        underWay -= 1;
      }
    };
    const counted = await openConsole({ ...database, query: counting }, { apiBase });
    const { html } = await counted.get('/attention');
    expect(html.match(/name="row"/g)?.length).toBeGreaterThan(3);
    expect(roundTrips).toBeLessThanOrEqual(4);
  });
});

describe('a waiting customer', () => {
  test('whose plan changed meanwhile is linked, which says the first plan and the last', async () => {
    const ids = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
    for (const [index, status] of ['trialing', 'active', 'canceled'].entries()) {
      await account.happen({ ...ids, status, createdSeconds: secondsAgo(600 - index) });
    }
    const teamId = await newTeam('Acme');
    expect((await linkRow('customer:cus_1', 'Acme')).text).toContain(
      `Team ${teamId}: no plan yet → no plan (canceled).`,
    );
  });

  test('is linked with others to the teams that their metadata names, and unlinked', async () => {
    const teamIds = [await newTeam('One'), await newTeam('Two'), await newTeam('Three')];
    const customerIds = ['cus_1', 'cus_2', 'cus_3'];
    await ingest(customerIds.map((id, index) => waitingEvent(id, teamIds[index])));
    const { html, text } = await pages.get('/attention');
    expect(text).toContain(`Its metadata names the team One team ${teamIds[0]}`);
    const suggested = [...html.matchAll(/name="(link customer:[^"]*)" value="([^"]+)"/g)].map(
      ([, name = '', id = '']) => [name, id] as const,
    );
    const all = rows(customerIds.map((id) => `customer:${id}`));
    const linked = await send([...all, ...suggested, ['action', 'link']]);
    expect(linked.results).toEqual(['linked', 'linked', 'linked']);
    expect(await customersOf(teamIds)).toEqual(customerIds);
    // A colleague has given one of them another customer since.
    await query('update teams set provider_customer_id = $2 where id = $1', [teamIds[0], 'cus_x']);
    expect((await reverse(linked, 'unlink')).results).toContain('has-another-customer');
    expect(await customersOf(teamIds)).toEqual(['cus_x', null, null]);
  });

  test('that is not selected is not linked, although its field is filled in', async () => {
    const teamIds = [await newTeam('Selected'), await newTeam('Suggested')];
    await park('cus_1', 'cus_2');
    const fields = [
      ['link customer:cus_1', 'Selected'],
      ['link customer:cus_2', 'Suggested'],
      ['action', 'link'],
    ] as const;
    expect((await send(fields)).status).toBe(400);
    expect(await customersOf(teamIds)).toEqual([null, null]);
    await send([...rows(['customer:cus_1']), ...fields]);
    expect(await customersOf(teamIds)).toEqual(['cus_1', null]);
  });

  test.each([
    ['no team', '', 'no-such-team'],
    ['a team that does not exist', 'Missing', 'no-such-team'],
    ['a team with another customer', 'Taken', 'has-another-customer'],
  ])('is not linked to %s', async (_, team, code) => {
    await park('cus_1');
    const takenId = await newTeam('Taken', 'cus_other');
    const { html, results, text } = await linkRow('customer:cus_1', team);
    expect(results).toEqual([code]);
    expect(text).toContain('Failed cus_1 : ');
    expect(html).toContain('name="row" value="customer:cus_1"');
    expect(await customersOf([takenId])).toEqual(['cus_other']);
  });
});

describe('a team that is out of sync', () => {
  test('stays on the list when the database refuses the repair', async () => {
    const teamId = await arrange('Acme', { isMissed: true });
    await query(`alter table teams add constraint never_canceled
                   check (subscription_status <> 'canceled')`);
    try {
      const { text } = await send([['one', `repair team:${teamId}`]]);
      expect(text).toMatch(
        /Out of sync Acme team \d+ : The team is out of sync with Stripe\. The constraint "never_canceled"/,
      );
      expect(text).toMatch(/cus_Acme .* plan refused The constraint "never_canceled"/);
    } finally {
      await query('alter table teams drop constraint never_canceled');
    }
  });

  test('is repaired with others: asked about first, and the failures are reported first', async () => {
    const teamIds = [await arrange('One'), await arrange('Two')];
    for (const teamId of teamIds) await changeByHand(teamId);
    const subjects = [...teamIds.map((teamId) => `team:${teamId}`), 'team:999999'];
    const form = [...rows(subjects), ['action', 'repair']] as const;
    expect((await pages.post('/actions', form)).text).toMatch(
      /Repair 3 teams\? .* One team \d+ cus_One changed by hand \S+ \(trialing\) → \S+ Two team \d+ cus_Two/,
    );
    expect((await planOf(teamIds[0] ?? 0))?.subscriptionStatus).toBe('trialing');
    const { text } = await send(form);
    expect(text).toContain(
      '1 of 3 failed failed Team 999999 : The team no longer exists. done One team',
    );
    expect(text).toContain(EMPTY);
  });
});

test('a team whose customer Stripe does not know is linked to the right one', async () => {
  const teamId = await newTeam('Mistyped', 'cus_typo');
  await park('cus_right');
  await account.compare();
  const subject = `team:${teamId}`;
  const { results, text } = await send([
    ['one', `link ${subject}`],
    [`customer of ${subject}`, 'cus_typo'],
    [`link ${subject}`, 'cus_right'],
  ]);
  expect(results).toEqual(['linked']);
  expect(text).toContain(EMPTY);
  expect((await planOf(teamId))?.planName).toBe('Pro');
});

describe('what is dismissed', () => {
  test('is asked about first, with a note, and restored', async () => {
    await park('cus_1', 'cus_2', 'cus_other');
    const subjects = ['customer:cus_1', 'customer:cus_2'];
    const asked = await pages.post('/actions', [
      ...[...rows(subjects), ['action', 'dismiss'] as const],
      ['back', '/attention'],
    ]);
    expect(asked.text).toMatch(/Dismiss 2 issues\? .* cus_1 waiting for a team cus_2 waiting/);
    expect(await query('select from instep.operator_actions')).toEqual([]);
    const form = [...fieldsOf(asked.html, 'yes'), ['note', 'test accounts']] as const;
    const dismissed = await pages.post('/actions', form);
    expect(dismissed.results).toEqual(['dismissed', 'dismissed']);
    expect(await list()).toMatch(/Resolve cus_other /);
    expect(await list('/actions')).toMatch(/dismiss cus_1 .*Hidden .*Restore test accounts/);
    const restored = await reverse(dismissed, 'restore');
    expect(restored.results).toEqual(['restored', 'restored']);
    expect(await list()).toContain('cus_1');
  });

  test('is hidden, which a green overview says, until it changes', async () => {
    const teamId = await arrange('ByHand');
    await changeByHand(teamId);
    await send([['one', `dismiss team:${teamId}`]]);
    await changeByHand(teamId);
    expect(await list()).toContain(EMPTY);
    const { html, text } = await pages.get('/');
    expect(html).not.toContain('data-issue=');
    expect(text).toContain('; 1 hidden');
    await query("update teams set provider_product_id = 'prod_gift' where id = $1", [teamId]);
    await changeByHand(teamId);
    expect(await list()).toContain('changed by hand');
  });
});

test('more than 200 rows are refused, with the limit', async () => {
  const subjects = Array.from({ length: 201 }, (_, index) => `customer:cus_${index}`);
  const { status, text } = await send([...rows(subjects), ['action', 'dismiss']]);
  expect(status).toBe(400);
  expect(text).toContain('At most 200 rows');
});

test('an unknown order is decided by asking Stripe', async () => {
  const teamId = await arrange('Acme', { unknownOrderSecond: secondsAgo(1_200) });
  expect(await list()).not.toContain(EMPTY);
  const { text } = await send([['one', `compare team:${teamId}`]]);
  expect(text).toContain(EMPTY);
});

test('an unreadable event is replayed, and dismissed when that does not help', async () => {
  await deliverUnreadable();
  const [row] = await query<{ position: number }>('select position from instep.events');
  const replayed = await send([['one', `replay event:${row?.position}`]]);
  expect(replayed.text).toContain("This version of Instep can't read the event either.");
  await send([['one', `dismiss event:${row?.position}`]]);
  expect(await list()).toContain(EMPTY);
});
