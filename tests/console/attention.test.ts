import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApplicationId, createLogger } from 'instep';
import { beforeEach, describe, expect, test } from 'vitest';
import { openConsole, type Shown } from '../support/browser/console-pages.ts';
import { fieldsOf } from '../support/browser/forms.ts';
import { reconcile } from '../support/internals/repair.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createStripeApi } from '../support/internals/stripe.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { database, ingest, settle } = account;
const { query } = database;
const apiBase = account.environment.STRIPE_API_BASE ?? '';
const pages = await openConsole(database, { apiBase });

const MINUTE_MS = 60_000;
const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000) - seconds;

beforeEach(async () => {
  await query(`truncate teams, instep.events, instep.customers, instep.findings,
                        instep.operator_actions`);
  account.fault = undefined;
  for (const { id } of account.subscriptions.newestFirst()) account.subscriptions.delete(id);
});

/** Parks the event of a payment. Returns its customer. */
async function park(customerId: string): Promise<string> {
  const fields = { customerId, subscriptionId: `sub_${customerId}`, productId: 'prod_pro' };
  const createdSeconds = secondsAgo(3_600);
  await ingest([received(eventBody({ ...fields, createdSeconds }), Date.now() - 60 * MINUTE_MS)]);
  return customerId;
}

/** Parks an event whose metadata names a team. */
async function parkNaming(customerId: string, teamId: ApplicationId): Promise<void> {
  const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_${customerId}` }));
  event.data.object.metadata = { teamId: String(teamId) };
  await ingest([received(JSON.stringify(event), Date.now())]);
}

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
    await account.happen(
      { ...fields, status: 'canceled', createdSeconds: secondsAgo(60) },
      'missed',
    );
  }
  return teamId;
}

async function changeByHand(teamId: ApplicationId): Promise<void> {
  await query("update teams set subscription_status = 'trialing' where id = $1", [teamId]);
  await compareAll();
}

/** A reconciliation; a dry run by default. */
async function compareAll(isDryRun = true): Promise<void> {
  const services = {
    ...{
      database,
      ingest,
      settle,
      planSelection: 'newest' as const,
      now: Date.now,
      nonce: randomUUID,
    },
    api: createStripeApi({ secretKey: API_KEY, baseUrl: new URL(apiBase) }),
    nameOf: async () => 'Pro',
    logger: createLogger('silent'),
  };
  const options = { isDryRun, onIssue: () => undefined };
  await reconcile({ ...services, ...options }, new AbortController().signal);
}

const planOf = async (teamId: ApplicationId) => (await account.planOf(teamId))?.plan;
const list = async (path = '/attention') => (await pages.get(path)).text;

/** Sends a form of the list, in which a field can occur more than once, and confirms it if it asks. */
async function send(fields: readonly (readonly [string, string])[]): Promise<Shown> {
  const form = [['back', '/attention'], ...fields] as const;
  const shown = await pages.post('/actions', form);
  if (shown.url !== '/actions') return shown;
  return await pages.post('/actions', [...form, ['confirmed', 'yes']]);
}

/** Presses the button on a page with results that reverses them. */
const reverse = async ({ html }: Shown, action: string) =>
  await pages.post('/actions', fieldsOf(html, action));

/** The codes of the results that a page shows. */
const resultsIn = (html: string) =>
  [...html.matchAll(/data-result="([^"]*)"/g)].map(([, code]) => code);

const EMPTY = 'No team needs attention';

test('the team that the metadata names is suggested, and one click links it', async () => {
  const teamId = await newTeam('Acme');
  await parkNaming('cus_named', teamId);
  const { html, text } = await pages.get('/attention');
  expect(text).toContain(`Its metadata names the team Acme team ${teamId}`);
  expect(html).toContain(`name="link customer:cus_named" value="${teamId}"`);
  await send([
    ['one', 'link customer:cus_named'],
    ['link customer:cus_named', String(teamId)],
  ]);
  expect(await planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
});

test('what Stripe charges twice is listed with what the team has, until it is dismissed', async () => {
  await arrange('Acme');
  const other = { customerId: 'cus_Acme', subscriptionId: 'sub_other', productId: 'prod_base' };
  await account.happen({ ...other, createdSeconds: secondsAgo(60) });
  const text = await list('/attention?issue=double-billed');
  expect(text).toContain('Stripe charges the customer for 2 subscriptions:');
  expect(text).toMatch(/sub_other[^.]*\. The team has this one\./);
  await send([
    ['one', 'dismiss customer:cus_Acme'],
    ['note', 'two offices'],
  ]);
  expect(await list()).toContain(EMPTY);
});

const at1 = (match: RegExpMatchArray) => match[1];

describe('the list', () => {
  test('has a row for each kind of problem, with its time, reason and button', async () => {
    await park('cus_parked');
    await changeByHand(await arrange('ByHand', { unknownOrderSecond: secondsAgo(1_200) }));
    await arrange('Missed', { isMissed: true });
    await newTeam('Unknown', 'cus_unknown');
    await compareAll();
    const odd = { id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } };
    await ingest([received(JSON.stringify(odd), Date.now())]);
    const { html, text } = await pages.get('/attention');
    // The most severe kinds come first.
    expect([...html.matchAll(/"Why"><span class="badge (\w+)"/g)].map(at1)).toEqual([
      ...['bad', 'bad'],
      ...['warning', 'warning', 'warning', 'warning'],
    ]);
    for (const row of [
      /Missed team \d+ cus_Missed .* ago out of sync .* → no plan \(canceled\) .*Repair/,
      /ByHand team \d+ cus_ByHand .* ago changed by hand .* \(trialing\) → \S+ Repair/,
      /Unknown team \d+ cus_unknown .* ago unknown customer .* Link team/,
      /cus_parked .* ago waiting for a team .* active for Pro \. Link team/,
      /unknown order .* sub_ByHand .* Compare/,
      /evt_odd .* ago unreadable event data\.object: .* Replay/,
    ]) {
      expect(text).toMatch(row);
    }
    for (const code of ['parked-events', 'unreadable-event', 'unknown-order', 'out-of-sync']) {
      expect(html).toMatch(new RegExp(`href="/attention\\?issue=${code}"[^>]*>[^<]*\\(1\\)`));
    }
  });

  test('has the first 200 and says that there are more, of one kind or of all', async () => {
    const MORE = 'There are more';
    await query(`insert into instep.events
                        (key, type, customer_id, received_at, deliveries, outcome, body)
                 select gen_random_uuid(), 'customer.subscription.updated', 'cus_' || number,
                        now(), 1, 'parked', '{}'
                   from generate_series(1, 200) as number`);
    await query(`insert into instep.customers
                        (customer_id, version, subscriptions, subscription_ids, access_rules, grants_plan,
                         had_team, waiting)
                 select 'cus_' || number, 1, '[]', '{}', 'newest', false, false, 'events'
                   from generate_series(1, 200) as number`);
    await changeByHand(await arrange('ByHand'));
    const rowsOn = async (path: string) => {
      const { html, text } = await pages.get(path);
      return { count: html.match(/name="row"/g)?.length, text };
    };
    const all = await rowsOn('/attention');
    expect(all.count).toBe(200);
    expect(all.text).toContain('ByHand');
    expect(all.text).toContain(MORE);
    const parked = await rowsOn('/attention?issue=parked-events');
    expect(parked.count).toBe(200);
    expect(parked.text).not.toContain('ByHand');
    expect(parked.text).not.toContain(MORE);
    expect((await rowsOn('/attention?issue=changed-by-hand')).count).toBe(1);
    const exported = (await pages.get('/attention?format=csv')).html.trimEnd().split('\r\n');
    expect(exported).toHaveLength(202);
  });
});

describe('a parked customer', () => {
  test('is linked to a team by its name, and its events are replayed', async () => {
    const customerId = await park('cus_1');
    const teamId = await newTeam('Driftwood Couriers');
    const subject = `customer:${customerId}`;
    const { text } = await send([
      ['one', `link ${subject}`],
      [`link ${subject}`, 'Driftwood Couriers'],
    ]);
    expect(text).toContain(`Done cus_1 : Linked to team ${teamId}. 1 event replayed: 1 applied.`);
    expect(text).toContain(EMPTY);
    expect(await planOf(teamId)).toMatchObject({ planName: 'Pro', subscriptionStatus: 'active' });
  });

  test('whose plan changed meanwhile is linked, which says the first plan and the last', async () => {
    const ids = { customerId: 'cus_1', subscriptionId: 'sub_1', productId: 'prod_pro' };
    for (const [index, status] of ['trialing', 'active', 'canceled'].entries()) {
      await account.happen({ ...ids, status, createdSeconds: secondsAgo(600 - index) });
    }
    const teamId = await newTeam('Acme');
    const { text } = await send([
      ['one', 'link customer:cus_1'],
      ['link customer:cus_1', 'Acme'],
    ]);
    expect(text).toMatch(new RegExp(`Team ${teamId}: no plan yet → no plan \\(canceled\\)\\.`));
  });

  test('that is not selected is not linked, although its field is filled in', async () => {
    const teamIds = [await newTeam('Selected'), await newTeam('Suggested')];
    const [selected, other] = [await park('cus_1'), await park('cus_2')];
    await send([
      ['row', `customer:${selected}`],
      [`link customer:${selected}`, 'Selected'],
      [`link customer:${other}`, 'Suggested'],
      ['action', 'link'],
    ]);
    const linked = await Promise.all(teamIds.map((teamId) => account.planOf(teamId)));
    expect(linked.map((team) => team?.customerId)).toEqual([selected, null]);
  });

  test.each([
    ['no team', '', /Enter the id, the name or an email address/],
    ['a team that does not exist', 'Missing', /There is no team "Missing"\./],
    [
      'a name that several teams have',
      'Twin',
      /"Twin" is not the id or the full name of one team\./,
    ],
    ['a team with another customer', 'Taken', /Team \d+ has another customer already\./],
  ])('is not linked to %s', async (_, team, message) => {
    await park('cus_1');
    await newTeam('Twin One');
    await newTeam('Twin Two');
    const takenId = await newTeam('Taken', 'cus_other');
    const { html, text } = await send([
      ['one', 'link customer:cus_1'],
      ['link customer:cus_1', team],
    ]);
    expect(text).toContain('Failed cus_1 : ');
    expect(text).toMatch(message);
    expect(html).toContain('name="row" value="customer:cus_1"');
    expect((await account.planOf(takenId))?.customerId).toBe('cus_other');
  });

  test('is linked to a team by its id with a #', async () => {
    await park('cus_1');
    const teamId = await newTeam('Acme');
    await send([
      ['one', 'link customer:cus_1'],
      ['link customer:cus_1', `#${teamId}`],
    ]);
    expect((await account.planOf(teamId))?.customerId).toBe('cus_1');
  });

  test('is dismissed with a note, and restored', async () => {
    await park('cus_1');
    const dismissed = await send([
      ['row', 'customer:cus_1'],
      ['note', 'test account'],
      ['action', 'dismiss'],
    ]);
    expect(resultsIn(dismissed.html)).toEqual(['dismissed']);
    expect(dismissed.text).toContain(EMPTY);
    expect(await list('/actions')).toMatch(
      /dismiss cus_1 .*Hidden until it changes\. Restore test account/,
    );
    const restored = await reverse(dismissed, 'restore');
    expect(resultsIn(restored.html)).toEqual(['restored']);
    expect(restored.html).toContain('name="row" value="customer:cus_1"');

    const dismiss = ['one', 'dismiss customer:cus_1'] as const;
    // As a page from before the first dismissal does.
    expect(resultsIn((await send([dismiss])).html)).toEqual(['dismissed-again']);
    // The events stay in the log, and count once a team has the customer.
    const fields = fieldsOf((await pages.get('/attention')).html, 'dismiss');
    expect(resultsIn((await send([...fields, dismiss])).html)).toEqual(['dismissed']);
    const teamId = await newTeam('Acme');
    await pages.press(`/teams/${teamId}`, `link team:${teamId}`, {
      [`link team:${teamId}`]: 'cus_1',
    });
    expect((await planOf(teamId))?.planName).toBe('Pro');
  });
});

describe('a team that is out of sync', () => {
  test('is repaired, which clears the alarm of the overview', async () => {
    const teamId = await arrange('Acme', { isMissed: true });
    await compareAll();
    expect((await pages.get('/')).text).toContain('1 issue needs attention.');
    const { html } = await send([['one', `repair team:${teamId}`]]);
    expect(resultsIn(html)).toEqual(['repaired']);
    expect((await planOf(teamId))?.subscriptionStatus).toBe('canceled');
    expect((await pages.get('/')).html).not.toContain('data-issue=');
  });

  test('stays on the list when the database refuses the repair', async () => {
    const teamId = await arrange('Acme', { isMissed: true });
    await query(`alter table teams add constraint never_canceled
                   check (subscription_status <> 'canceled')`);
    try {
      const { text } = await send([['one', `repair team:${teamId}`]]);
      expect(text).toMatch(
        /Out of sync Acme team \d+ : The team is out of sync with Stripe\. The constraint "never_canceled"/,
      );
      expect(text).toMatch(
        /Acme team \d+ cus_Acme .* plan refused The constraint "never_canceled" of your database refuses the plan/,
      );
    } finally {
      await query('alter table teams drop constraint never_canceled');
    }
  });

  test('is hidden, which a green overview says', async () => {
    const teamId = await arrange('Acme', { isMissed: true });
    await compareAll();
    await send([['one', `dismiss team:${teamId}`]]);
    await park('cus_1');
    await send([['one', 'dismiss customer:cus_1']]);
    const { html, text } = await pages.get('/');
    expect(html).not.toContain('data-issue=');
    expect(text).toContain('; 2 hidden');
  });

  test('stays dismissed until it changes', async () => {
    const teamId = await arrange('ByHand');
    await changeByHand(teamId);
    await send([
      ['row', `team:${teamId}`],
      ['action', 'dismiss'],
    ]);
    await changeByHand(teamId);
    expect(await list()).toContain(EMPTY);
    expect((await pages.get('/')).text).not.toContain('changed by hand');
    await query("update teams set provider_product_id = 'prod_gift' where id = $1", [teamId]);
    await changeByHand(teamId);
    expect(await list()).toContain('changed by hand');
  });
});

describe('a team whose customer Stripe does not know', () => {
  async function link(teamId: ApplicationId, customerId: string, has = ''): Promise<string> {
    const subject = `team:${teamId}`;
    const { text } = await send([
      ['one', `link ${subject}`],
      [`customer of ${subject}`, has],
      [`link ${subject}`, customerId],
    ]);
    return text;
  }

  test('is linked to the right customer, whose events are replayed', async () => {
    const teamId = await newTeam('Mistyped', 'cus_typo');
    await park('cus_right');
    await compareAll();
    expect(await link(teamId, 'cus_right', 'cus_typo')).toContain(
      `Done Mistyped team ${teamId} : Linked to cus_right. 1 event replayed: 1 applied.`,
    );
    expect(await list()).toContain(EMPTY);
    expect(await account.planOf(teamId)).toMatchObject({
      customerId: 'cus_right',
      plan: { planName: 'Pro' },
    });
  });

  test.each([
    ['a text that is no id', 'Mistyped', "Enter the customer's id at Stripe."],
    [
      'the customer of another team',
      'cus_Acme',
      'The database refused to change the customer of team',
    ],
  ])('is not linked to %s', async (_, customerId, message) => {
    await arrange('Acme');
    const teamId = await newTeam('Mistyped', 'cus_typo');
    await compareAll();
    expect(await link(teamId, customerId, 'cus_typo')).toContain(
      `Failed Mistyped team ${teamId} : ${message}`,
    );
    expect((await account.planOf(teamId))?.customerId).toBe('cus_typo');
  });
});

describe('a dismissal until a date', () => {
  const dismissUntil = (teamId: ApplicationId, until: string) =>
    send([
      ['row', `team:${teamId}`],
      ['note', 'Partner deal'],
      ['until', until],
      ['action', 'dismiss'],
    ]);

  test('is refused for a day that is not in the calendar', async () => {
    const teamId = await arrange('Partner');
    expect((await dismissUntil(teamId, '2099-02-30')).status).toBe(400);
  });

  test('hides the row until it is restored, but repairs go on', async () => {
    const teamId = await arrange('Partner', { isMissed: true });
    await compareAll();
    const dismissed = await dismissUntil(teamId, '2999-01-01');
    expect(await list()).toContain(EMPTY);
    const { text } = await pages.get(`/teams/${teamId}`);
    expect(text).toContain('Dismissed until 2999-01-01 23:59:59 UTC : Partner deal');
    await reverse(dismissed, 'restore');
    expect(await list()).toContain('Partner');
    await dismissUntil(teamId, '2999-01-01');
    await compareAll(false);
    expect((await planOf(teamId))?.subscriptionStatus).toBe('canceled');
  });
});

test('a repair asks first, with the names of the teams and what would change', async () => {
  const teamIds = [await arrange('One'), await arrange('Two')];
  for (const teamId of teamIds) await changeByHand(teamId);
  const { text } = await pages.post('/actions', [
    ...teamIds.map((teamId) => ['row', `team:${teamId}`] as const),
    ['action', 'repair'],
  ]);
  expect(text).toMatch(
    /Repair 2 teams\? .* One team \d+ cus_One changed by hand \S+ \(trialing\) → \S+ Two team \d+ cus_Two/,
  );
  expect((await planOf(teamIds[0] ?? 0))?.subscriptionStatus).toBe('trialing');
});

test('Dismiss asks first, with the names of the customers, a note and a day', async () => {
  for (const customerId of ['cus_1', 'cus_2', 'cus_other']) await park(customerId);
  const rows = ['cus_1', 'cus_2'].map((id) => ['row', `customer:${id}`] as const);
  const form = [...rows, ['action', 'dismiss'], ['back', '/attention']] as const;
  const asked = await pages.post('/actions', form);
  expect(asked.text).toMatch(/Dismiss 2 issues\? .* cus_1 waiting for a team cus_2 waiting/);
  expect(await query('select from instep.operator_actions')).toEqual([]);
  const fields = fieldsOf(asked.html, 'yes');
  const done = await pages.post('/actions', [
    ...fields,
    ['note', 'tests'],
    ['until', '2999-01-01'],
  ]);
  expect(resultsIn(done.html)).toEqual(['dismissed', 'dismissed']);
  expect(await list()).toMatch(/Resolve cus_other /);
  expect(await list('/actions')).toMatch(/until 2999-01-01.* tests /);
});

describe('several rows', () => {
  test('are resolved at once, with a summary that begins with the failures', async () => {
    const teamIds = [await arrange('One'), await arrange('Two')];
    for (const teamId of teamIds) await changeByHand(teamId);
    const { text } = await send([
      ...teamIds.map((teamId) => ['row', `team:${teamId}`] as const),
      ['row', 'team:999999'],
      ['action', 'repair'],
    ]);
    expect(text).toContain(
      '1 of 3 failed failed Team 999999 : The team no longer exists. done One team',
    );
    expect(text).toContain(EMPTY);
  });

  test.each(['repair', 'link'])('must be selected first: %s', async (action) => {
    const teamId = await newTeam('Suggested');
    await parkNaming('cus_1', teamId);
    const { status } = await send([
      ['action', action],
      ['link customer:cus_1', String(teamId)],
    ]);
    expect(status).toBe(400);
    expect((await account.planOf(teamId))?.customerId).toBe(null);
  });
});

test('the list takes at most four round trips in sequence, with every kind of issue', async () => {
  for (const name of ['One', 'Two']) await changeByHand(await arrange(name));
  await park('cus_1');
  await parkNaming('cus_2', await newTeam('Named'));
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

test('an unknown order is decided by asking Stripe', async () => {
  await arrange('Acme', { unknownOrderSecond: secondsAgo(1_200) });
  const { text } = await send([['one', 'compare subscription:sub_Acme']]);
  expect(text).toContain('Stripe has shown which event came last.');
  expect(text).toContain(EMPTY);
});

test('an unreadable event is replayed, and dismissed when that does not help', async () => {
  const odd = { id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } };
  await ingest([received(JSON.stringify(odd), Date.now())]);
  const [row] = await query<{ position: number }>('select position from instep.events');
  const subject = `event:${row?.position}`;
  const replayed = await send([['one', `replay ${subject}`]]);
  expect(replayed.text).toContain("This version of Instep can't read the event either.");
  expect((await pages.get('/')).html).toContain('data-issue="unreadable-event"');
  await send([
    ['row', subject],
    ['action', 'dismiss'],
  ]);
  expect(await list()).toContain(EMPTY);
  expect((await pages.get('/')).html).not.toContain('data-issue="unreadable-event"');
});

test('the list of actions has pages, the newest first', async () => {
  expect(await list('/actions')).toContain('No actions yet');
  await query(`insert into instep.operator_actions
                      (form_id, subject, action, is_done, operator, operator_how, outcome, acted_at)
               select gen_random_uuid(), 'team:' || number, 'repair', number <> 60, 'ada', 'console',
                      '{"code":"order-known"}', now() - number * interval '1 second'
                 from generate_series(60, 1, -1) as number`);
  const { html, text } = await pages.get('/actions');
  expect(text).toMatch(/ada repair Team 1 .* ada repair Team 50 /);
  expect(text).not.toContain('Team 51');
  const next = /href="([^"]*)" rel="next"/.exec(html)?.[1] ?? '';
  const { html: older, text: olderText } = await pages.get(next);
  expect(olderText).toMatch(/Team 51 .* repair Team 60 failed /);
  const previous = /href="([^"]*)" rel="prev"/.exec(older)?.[1] ?? '';
  expect(await list(previous)).toMatch(/ada repair Team 1 .* ada repair Team 50 /);
});
