import fc from 'fast-check';
import {
  type ApplicationId,
  countDue,
  findTeams,
  openContext,
  type PageOfTeams,
  type PageStart,
} from 'instep/operate';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { openAccount } from '../support/stripe/reconciled-account.ts';

const account = await openAccount();
const { query } = account.database;
const context = await openContext({ environment: account.environment });
afterAll(() => context.close());

beforeEach(reset);
async function reset(): Promise<void> {
  await query('truncate teams, instep.subscriptions restart identity');
}

const anySubscription = fc.record({
  status: fc.constantFrom('past_due', 'unpaid', 'active'),
  /** In days since 1970: few, so that many are equal. */
  sinceDay: fc.integer({ min: 1, max: 3 }),
});

const anyTeam = fc.record({
  status: fc.constantFrom('past_due', 'unpaid', 'active'),
  /** Which of the subscriptions is in the row. */
  own: fc.integer({ min: 0, max: 2 }),
  subscriptions: fc.array(anySubscription, { maxLength: 3 }),
});
type AnyTeam = ReturnType<(typeof anyTeam)['generate']>['value'];

async function addTeams(teams: readonly AnyTeam[]): Promise<void> {
  await query(
    `insert into teams (name, provider_customer_id, provider_subscription_id, subscription_status)
     select '', 'cus_' || number, 'sub_' || number || '_' || own, status
       from rows from (jsonb_to_recordset($1::jsonb) as (own integer, status text))
         with ordinality as team (own, status, number)
      order by number`,
    [JSON.stringify(teams)],
  );
  const subscriptions = teams.flatMap((team, index) =>
    team.subscriptions.map((one, own) => ({
      customer: `cus_${index + 1}`,
      subscription: `sub_${index + 1}_${own}`,
      ...one,
    })),
  );
  await query(
    `insert into instep.subscriptions
            (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_since)
     select customer, subscription, false, status, to_timestamp("sinceDay" * 86400)
       from jsonb_to_recordset($1::jsonb)
         as one (customer text, subscription text, status text, "sinceDay" integer)`,
    [JSON.stringify(subscriptions)],
  );
}

/** Since when a team is due, in days since 1970. */
function dueSince({ status, own, subscriptions }: AnyTeam): number | null {
  const due = subscriptions.filter(
    (one, index) =>
      (one.status === 'past_due' && index === own) ||
      (one.status === 'unpaid' && status === 'unpaid'),
  );
  return due.length === 0 ? null : Math.min(...due.map(({ sinceDay }) => sinceDay));
}

const DAY_MS = 86_400_000;

test('every team that is due is listed once, in the order of the due payments, page by page', async () => {
  const property = fc.asyncProperty(
    fc.array(anyTeam, { maxLength: 8 }),
    fc.integer({ min: 1, max: 4 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 3 }),
    async (teams, limit, isDescending, untilDay) => {
      await reset();
      await addTeams(teams);
      const filter = { dueBeforeMs: untilDay * DAY_MS + 1 };
      const order = { sort: 'due', isDescending } as const;
      const due = teams.flatMap((team, index) => {
        const day = dueSince(team);
        return day === null || day > untilDay ? [] : [{ id: index + 1, day }];
      });
      const sign = isDescending ? -1 : 1;
      due.sort((one, other) => sign * (one.day - other.day || one.id - other.id));
      const expected = due.map(({ id }) => id);
      const listed: unknown[] = [];
      let start: PageStart<ApplicationId> | null = null;
      const found = findTeams(context, filter, order);
      for (;;) {
        const page: PageOfTeams = await found.page({ start, limit });
        if (start !== null && page.teams.length > 0) {
          const before = { side: 'before', key: page.teams[0]?.id ?? '' } as const;
          const back = await found.page({ start: before, limit });
          expect(back.teams.map(({ id }) => id)).toEqual(
            expected.slice(Math.max(0, listed.length - limit)).slice(0, limit),
          );
        }
        listed.push(...page.teams.map(({ id }) => id));
        if (page.next === null) break;
        start = { side: 'after', key: page.next };
      }
      expect(listed).toEqual(expected);
      const named = await collect(findTeams(context, filter, { sort: 'name', isDescending }).all());
      expect(named.map(({ id }) => id)).toEqual(
        expected.toSorted((one, other) => sign * (one - other)),
      );
      expect(await countDue(context, filter.dueBeforeMs, 100)).toBeGreaterThanOrEqual(due.length);
    },
  );
  await fc.assert(property, { numRuns: 40 });
});

test.each([false, true])(
  'few of thousands that are due are found: descending %s',
  async (isDescending) => {
    await query(
      `insert into teams (name, provider_customer_id, provider_subscription_id, subscription_status, plan_name)
     select '', 'cus_' || number, 'sub_' || number, 'past_due',
            case when number % 1000 = 7 then 'Rare' else 'Pro' end
       from generate_series(1, 2500) as number`,
    );
    await query(
      `insert into instep.subscriptions
            (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_since)
     select provider_customer_id, provider_subscription_id, false, 'past_due',
            to_timestamp((id % 2) * 86400)
       from teams`,
    );
    // More than one statement examines have no team.
    await query(
      `insert into instep.subscriptions
              (customer_id, subscription_id, is_order_ambiguous, latest_status, latest_since)
       select 'cus_without_' || number, '', false, 'unpaid', to_timestamp(number * 100)
         from generate_series(1, 863) as number`,
    );
    const filter = { dueBeforeMs: 2 * DAY_MS, plan: 'Rare' };
    const found = await collect(findTeams(context, filter, { sort: 'due', isDescending }).all());
    const expected = [7, 1_007, 2_007];
    expect(found.map(({ id }) => id)).toEqual(isDescending ? expected.toReversed() : expected);
    expect(await countDue(context, filter.dueBeforeMs, 1_000)).toBe(1_000);
  },
);
