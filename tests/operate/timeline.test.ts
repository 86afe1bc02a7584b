import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import {
  type ApplicationId,
  eventNamed,
  explainEvent,
  explainTeam,
  type PageStart,
  readTeam,
  type Timeline,
  type TimelineItem,
} from 'instep/operate';
import { expect, test } from 'vitest';
import { openOperatedAccount, teamOf } from '../support/stripe/operated-account.ts';
import { repetitions } from '../support/test-length.ts';

const { context, query, ...operated } = await openOperatedAccount();

let count = 0;

/** A team, and what can happen to it. */
async function arrange() {
  count += 1;
  const customerId = `cus_${count}`;
  const teamId = await operated.newTeam('Acme', customerId);
  const subject = teamOf(teamId);
  const customerNow = async () => (await readTeam(context, teamId))?.customerId ?? null;
  let second = 0;
  const deliver = async (status: string, of = customerId) => {
    // Received in a later millisecond than what happened before it: in the same one, only the sources have an order.
    await delay(2);
    second += 1;
    const eventId = `evt_${count}_${second}`;
    const fields = { eventId, customerId: of, subscriptionId: `sub_${of}`, status };
    const createdSeconds = 1_790_000_000 + second;
    await operated.deliver({ ...fields, productId: 'prod_pro', createdSeconds });
    return eventId;
  };
  const replaceBy = async (linkTo: string) =>
    void (await operated.link(subject, linkTo, await customerNow()));
  const actOn = async (action: 'unlink' | 'link' | 'dismiss') => {
    const linking = {
      linkTo: customerId,
      expectedCustomerId: action === 'link' ? null : await customerNow(),
    };
    await operated.act({ action, subject, ...linking }, 'why not');
  };
  return {
    teamId,
    customerId,
    deliver,
    replaceBy,
    actOn,
    /** The application writes the row. */
    async writeByHand(planName: string) {
      await query('update teams set plan_name = $2 where id = $1', [teamId, planName]);
    },
  };
}

async function readAll(teamId: ApplicationId, limit: number) {
  const items: TimelineItem[] = [];
  for (let after: string | null = null, pages = 0; pages < 500; pages += 1) {
    const start: PageStart<string> | null = after === null ? null : { side: 'after', key: after };
    const page: Timeline | undefined = (await explainTeam(context, teamId, { start, limit }))
      ?.timeline;
    items.push(...(page?.rows ?? []));
    after = page?.next ?? null;
    if (after === null) return items;
  }
  throw new RangeError('the pages have no end');
}

test('has each thing that happened once, with what it changed', async () => {
  const { teamId, deliver, actOn, writeByHand } = await arrange();
  await deliver('active');
  await writeByHand('Gold');
  await actOn('unlink');
  await actOn('link');
  await actOn('dismiss');
  const items = await readAll(teamId, 50);
  const shown = items.map((item) => [
    item.kind === 'action' ? item.action.action : item.kind,
    item.plans?.before?.planName ?? null,
    item.plans?.after?.planName ?? null,
  ]);
  expect(shown).toEqual([
    ['dismiss', null, null],
    ['link', null, 'Pro'],
    ['unlink', 'Gold', null],
    ['event', null, 'Pro'],
  ]);
  expect(items[0]).toMatchObject({ action: { note: 'why not', operator: 'user:7' } });
});

test('has a change with the action that made it, whenever that was recorded', async () => {
  const { teamId, deliver, actOn } = await arrange();
  await deliver('active');
  await actOn('unlink');
  await actOn('dismiss');
  await query(`update instep.operator_actions set acted_at = acted_at + interval '1 hour'
                where action = 'unlink' and subject = 'team:${teamId}'`);
  const items = await readAll(teamId, 50);
  const shown = items.map((item) => [
    item.kind === 'action' && item.action.action,
    item.plans?.before?.planName,
  ]);
  expect(shown).toEqual([
    ['unlink', 'Pro'],
    ['dismiss', undefined],
    [false, undefined],
  ]);
});

test('has the events of the present customer, and of an earlier one only what changed the plan', async () => {
  const { teamId, customerId, deliver, replaceBy } = await arrange();
  const first = await deliver('active');
  const second = `${customerId}_b`;
  const waiting = await deliver('trialing', second);
  await replaceBy(second);
  await deliver('canceled');
  const items = await readAll(teamId, 50);
  const shown = items.map((item) => [
    item.kind,
    item.kind === 'event' ? item.event.eventId : item.kind === 'change' && item.change.eventId,
    item.plans?.after?.subscriptionStatus ?? null,
  ]);
  expect(shown).toEqual([
    ['action', false, 'trialing'],
    ['event', waiting, null],
    ['change', first, 'active'],
  ]);
});

test('a link has what it changed, and not the events that waited for it', async () => {
  const { teamId, customerId, deliver, replaceBy } = await arrange();
  await deliver('active');
  await deliver('active', `${customerId}_b`);
  await replaceBy(`${customerId}_b`);
  const steps = (await readAll(teamId, 50)).map(({ kind, plans }) => [
    kind,
    plans?.before?.planName ?? null,
    plans?.after?.planName ?? null,
  ]);
  expect(steps).toEqual([
    ['action', 'Pro', 'Pro'],
    ['event', null, null],
    ['change', null, 'Pro'],
  ]);
});

test('events that waited changed nothing before the app linked their customer', async () => {
  const { teamId, customerId, deliver } = await arrange();
  const second = `${customerId}_b`;
  const waiting = [];
  for (const status of ['active', 'canceled', 'trialing']) {
    waiting.push(await deliver(status, second));
  }
  await query('update teams set provider_customer_id = $2 where id = $1', [teamId, second]);
  // It arrives before the customer is settled, so it is what changes the row.
  const first = await deliver('active', second);
  const steps = (await readAll(teamId, 50)).map((item) => [
    item.kind === 'event' && item.event.eventId,
    item.plans?.before?.subscriptionStatus ?? null,
    item.plans?.after?.subscriptionStatus ?? null,
  ]);
  const unchanged = waiting.map((eventId) => [eventId, null, null]);
  expect(steps).toEqual([[first, null, 'active'], ...unchanged.reverse()]);
  const explained = await Promise.all(
    [...waiting, first].map(async (eventId) => {
      const event = await eventNamed(context, eventId);
      return event && (await explainEvent(context, event)).plans?.after?.subscriptionStatus;
    }),
  );
  expect(explained).toEqual([undefined, undefined, undefined, 'active']);
});

const STEP = fc.oneof(
  fc.constantFrom('active', 'trialing', 'canceled', 'past_due').map((status) => ({ status })),
  fc.constantFrom('unlink', 'link', 'dismiss').map((act) => ({ act })),
  fc.constantFrom('Gold', 'Silver').map((plan) => ({ plan })),
  fc.constantFrom('', '_b', '_c').map((customer) => ({ customer })),
  fc.constantFrom('_b', '_c').map((of) => ({ status: 'active', of })),
);

test('pages of any size have together what one page has', async () => {
  const property = fc.asyncProperty(
    fc.array(STEP, { minLength: 5, maxLength: 14 }),
    fc.integer({ min: 1, max: 6 }),
    async (steps, limit) => {
      const { teamId, customerId, deliver, replaceBy, actOn, writeByHand } = await arrange();
      for (const step of steps) {
        if ('of' in step) await deliver(step.status, `${customerId}${step.of}`);
        else if ('status' in step) await deliver(step.status);
        else if ('customer' in step) await replaceBy(`${customerId}${step.customer}`);
        else if ('act' in step) await actOn(step.act as Parameters<typeof actOn>[0]);
        else await writeByHand(step.plan);
      }
      expect(await readAll(teamId, limit)).toEqual(await readAll(teamId, 100));
    },
  );
  // A link that replays more events than a page has.
  const replaying: (typeof STEP extends fc.Arbitrary<infer Step> ? Step : never)[] = [
    { customer: '_b' },
    { status: 'active' },
    { status: 'canceled' },
    { status: 'active', of: '_b' },
    { customer: '' },
  ];
  await fc.assert(property, { numRuns: repetitions(8, 60), examples: [[replaying, 1]] });
});

test('goes back to the page before', async () => {
  const { teamId, deliver } = await arrange();
  for (const status of ['trialing', 'active', 'canceled', 'active']) await deliver(status);
  const read = async (start: PageStart<string> | null) => {
    const { timeline } = (await explainTeam(context, teamId, { start, limit: 2 })) ?? {};
    if (timeline === undefined) throw new RangeError('no such team');
    return timeline;
  };
  const first = await read(null);
  const second = await read({ side: 'after', key: first.next ?? '' });
  expect(await read({ side: 'before', key: second.previous ?? '' })).toEqual(first);
});

test('any other text than a page starts at the newest item', async () => {
  const { teamId, deliver } = await arrange();
  await deliver('active');
  for (const key of ['', 'x', '1-2', `${'9'.repeat(40)}-1-1-1`, '-1-1-1-1']) {
    const start = { side: 'after', key } as const;
    expect((await explainTeam(context, teamId, { start }))?.timeline.rows).toHaveLength(1);
  }
});
