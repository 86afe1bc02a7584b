import fc from 'fast-check';
import { act, type Operator, openContext, readTimeline, type TimelineItem } from 'instep/operate';
import { recordApplicationChanges } from 'instep/src/postgres/statements/plan-changes.ts';
import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { afterAll, expect, test } from 'vitest';
import { eventBody, received } from '../support/stripe/events.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';
import { repetitions } from '../support/test-length.ts';

const account = await openAccount();
const { query } = account.database;
const context = await openContext({ environment: account.environment });
const operator: Operator = { name: 'user:7', how: 'application' };
afterAll(() => context.close());

let count = 0;

/** A team, and what can happen to it. */
async function arrange() {
  count += 1;
  const customerId = `cus_${count}`;
  const teamId = await addTeam(query, { name: 'Acme', customerId });
  const subject = { kind: 'team', id: String(teamId) } as const;
  let second = 0;
  const deliver = async (status: string) => {
    second += 1;
    const fields = { customerId, subscriptionId: `sub_${count}`, productId: 'prod_pro', status };
    const body = eventBody({ ...fields, createdSeconds: 1_790_000_000 + second });
    await account.ingest([received(body, Date.now())]);
  };
  const actOn = async (action: 'grant' | 'revoke-grant' | 'unlink' | 'link' | 'dismiss') => {
    const request = { action, subject, linkTo: customerId, grant: { planName: `Gift ${second}` } };
    await act(context, operator, [request], { note: 'why not' });
  };
  return {
    teamId,
    deliver,
    actOn,
    /** The application writes the row, which a comparison notices. */
    async writeByHand(planName: string) {
      await query('update teams set plan_name = $2 where id = $1', [teamId, planName]);
      await recordApplicationChanges(account.database, [teamId]);
    },
  };
}

async function readAll(teamId: Awaited<ReturnType<typeof arrange>>['teamId'], limit: number) {
  const items: TimelineItem[] = [];
  for (let before: string | null = null, pages = 0; pages < 500; pages += 1) {
    const page = await readTimeline(context, { teamId, before, limit });
    items.push(...(page?.items ?? []));
    before = page?.next ?? null;
    if (before === null) return items;
  }
  throw new RangeError('the pages have no end');
}

test('has each thing that happened once, with what it changed', async () => {
  const { teamId, deliver, actOn, writeByHand } = await arrange();
  await deliver('active');
  await writeByHand('Gold');
  await actOn('unlink');
  await actOn('grant');
  await actOn('revoke-grant');
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
    ['grant-end', 'Gift 1', null],
    ['grant', null, 'Gift 1'],
    ['unlink', 'Gold', null],
    ['change', 'Pro', 'Gold'],
    ['event', null, 'Pro'],
  ]);
  expect(items[0]).toMatchObject({ action: { note: 'why not', operator: 'user:7' } });
  expect(items[5]).toMatchObject({ change: { cause: 'app', possibleSince: expect.any(Date) } });
});

const STEP = fc.oneof(
  fc.constantFrom('active', 'trialing', 'canceled', 'past_due').map((status) => ({ status })),
  fc.constantFrom('grant', 'revoke-grant', 'unlink', 'link', 'dismiss').map((act) => ({ act })),
  fc.constantFrom('Gold', 'Silver').map((plan) => ({ plan })),
);

test('pages of any size have together what one page has', async () => {
  const property = fc.asyncProperty(
    fc.array(STEP, { minLength: 5, maxLength: 14 }),
    fc.integer({ min: 1, max: 6 }),
    async (steps, limit) => {
      const { teamId, deliver, actOn, writeByHand } = await arrange();
      for (const step of steps) {
        if ('status' in step) await deliver(step.status);
        else if ('act' in step) await actOn(step.act as Parameters<typeof actOn>[0]);
        else await writeByHand(step.plan);
      }
      expect(await readAll(teamId, limit)).toEqual(await readAll(teamId, 100));
    },
  );
  await fc.assert(property, { numRuns: repetitions(8, 60) });
});

test('any other text than a page starts at the newest item', async () => {
  const { teamId, deliver } = await arrange();
  await deliver('active');
  for (const before of ['', 'x', '1-2', `${'9'.repeat(40)}-1-1-1`, '-1-1-1-1']) {
    expect((await readTimeline(context, { teamId, before }))?.items).toHaveLength(1);
  }
});
