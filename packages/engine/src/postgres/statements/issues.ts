// The table `instep.findings`, with what comparisons have found, and plans that the application refuses. Comparisons and
// ingest store it; operators read it.

import type { PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';

/** Why a team or a customer has an issue. The table `instep.findings` has these in its column `problem`. */
export const ISSUE_CAUSES = [
  'missed event',
  'changed by hand',
  'another plan name',
  'no subscription',
  'plan refused',
  'unknown customer',
  'customer without a team',
] as const;
export type IssueCause = (typeof ISSUE_CAUSES)[number];

/** An issue that a comparison found. */
export type FoundIssue = {
  readonly cause: IssueCause;
  readonly customerId: string;
  /** `null` for a customer without a team. */
  readonly teamId: ApplicationId | null;
  /** The plan at the comparison, and the plan that it should be, unless the issue is about the customer. */
  readonly plan?: PlanInRow;
  readonly shouldBe?: PlanInRow;
  /** When it began at the earliest, in seconds since 1970; `null`: unknown. */
  readonly beganSeconds?: number | null;
  /** The constraint that refuses the plan; `null`: unknown, or nothing is refused. */
  readonly refusedBy?: string | null;
};

/**
 * Stores the issues that a comparison of these customers found, in place of earlier ones with the same causes. One that
 * can find only some causes keeps issues with other causes while the team has the same plan.
 */
export async function storeIssues(
  query: Query,
  customerIds: readonly string[],
  found: readonly FoundIssue[],
  causes: readonly IssueCause[] = ISSUE_CAUSES,
): Promise<void> {
  await query({
    name: 'store_issues',
    text: `
      with found as (
        select "customerId" as customer_id,
               coalesce("teamId", '') as team_id,
               cause as problem,
               plan,
               "shouldBe" as should_be,
               to_timestamp("beganSeconds") as began_at,
               "refusedBy" as refused_by
          from json_to_recordset($3::json) as issue (
                 "customerId" text, "teamId" text, cause text, plan jsonb, "shouldBe" jsonb,
                 "beganSeconds" bigint, "refusedBy" text
               )
      ), gone as (
        delete from instep.findings as known
         where customer_id = any ($1::text[])
           and problem = any ($2::text[])
           and not exists (
                 select
                   from found
                  where found.customer_id = known.customer_id
                    and found.team_id = known.team_id
               )
      )
      insert into instep.findings as known
             (customer_id, team_id, problem, plan, should_be, began_at, refused_by)
      select customer_id, team_id, problem, plan, should_be, began_at, refused_by
        from found
          on conflict (customer_id, team_id) do update
         set problem   = excluded.problem,
             plan      = excluded.plan,
             should_be = excluded.should_be,
             began_at  = excluded.began_at,
             refused_by = case
                            when excluded.problem = 'plan refused'
                              then coalesce(excluded.refused_by, known.refused_by)
                          end,
             found_at  = case
                           when (known.problem, known.plan, known.should_be)
                                is not distinct from
                                (excluded.problem, excluded.plan, excluded.should_be)
                             then known.found_at
                           else now()
                         end,
             seen_at   = now()
       where known.problem = any ($2::text[])
          or known.plan is distinct from excluded.plan`,
    values: [customerIds, causes, JSON.stringify(found)],
  });
}

/** Those of these customers that have an issue. */
export async function readCustomersWithIssue(
  query: Query,
  customerIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await query<{ customerId: string }>({
    name: 'read_customers_with_issue',
    text: `
      select customer_id as "customerId"
        from instep.findings
       where customer_id = any ($1::text[])`,
    values: [customerIds],
  });
  return new Set(rows.map(({ customerId }) => customerId));
}

/** Stores that a customer has no team any more, if one of its subscriptions grants a plan. */
export async function storeTeamless(query: Query, customerId: string): Promise<void> {
  await query({
    name: 'store_teamless',
    text: `
      insert into instep.findings (customer_id, team_id, problem)
      select customer_id, '', 'customer without a team'
        from instep.customers
       where customer_id = $1
         and grants_plan
          on conflict (customer_id, team_id) do update
         set problem  = excluded.problem,
             found_at = now(),
             seen_at  = now()`,
    values: [customerId],
  });
}

/**
 * Deletes the issues that the reconciliation that is ending has not found again. A dry run can't find again that the
 * database refuses a plan.
 */
export async function deleteOldIssues(query: Query): Promise<void> {
  await query({
    name: 'delete_old_issues',
    text: `
      delete from instep.findings
       where problem <> 'plan refused'
         and seen_at < (select started_at from instep.leased_jobs where name = 'reconcile')`,
  });
}
