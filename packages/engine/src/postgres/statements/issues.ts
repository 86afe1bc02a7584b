// The table `instep.findings`, with the issues that comparisons have found, plans that the application refuses, and what
// operators have dismissed. Comparisons and ingest store them; find-issues.ts reads them; every repair asks for dismissals.

import type { PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { columnArrays } from '../named-statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { columnOf, comparable, fieldsOf } from '../teams-table.ts';
import type { Team } from './teams.ts';

/** Why a team or a customer has an issue. The table `instep.findings` has these in its column `problem`. */
export const ISSUE_CAUSES = [
  'missed event',
  'never seen',
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
  /** The plan at the comparison, and the plan that it should be; `null` if the issue is about the customer. */
  readonly plan: PlanInRow | null;
  readonly shouldBe: PlanInRow | null;
  /** When it began at the earliest, in seconds since 1970; `null`: unknown. */
  readonly beganSeconds: number | null;
  /** The constraint that refuses the plan; `null`: unknown, or nothing is refused. */
  readonly refusedBy?: string | null;
};

/** With more, the configuration is wrong rather than the teams. */
const MAX_STORED = 10_000;

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
  const rows = found.map(({ teamId, plan, shouldBe, refusedBy = null, ...others }) => ({
    refusedBy,
    ...others,
    teamId: teamId === null ? '' : String(teamId),
    plan: plan && JSON.stringify(plan),
    shouldBe: shouldBe && JSON.stringify(shouldBe),
  }));
  await query({
    name: 'store_issues',
    text: `
      with found as (
        select *
          from unnest($3::text[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[], $8::bigint[], $9::text[])
            as found (customer_id, team_id, problem, plan, should_be, began_seconds, refused_by)
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
      select customer_id, team_id, problem, plan, should_be, to_timestamp(began_seconds), refused_by
        from found
       where (select count(*) from instep.findings) < ${MAX_STORED}
          or exists (
               select
                 from instep.findings as former
                where former.customer_id = found.customer_id
                  and former.team_id = found.team_id
             )
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
    values: [
      customerIds,
      causes,
      ...columnArrays(
        rows,
        'customerId',
        'teamId',
        'cause',
        'plan',
        'shouldBe',
        'beganSeconds',
        'refusedBy',
      ),
    ],
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

/** An issue that still holds. */
export type StoredIssue = Required<FoundIssue> & {
  /** When it began, or was found. */
  readonly sinceMs: number;
};

/** SQL for the plan of a team's row: `jsonb_build_object('subscriptionStatus', teams.subscription_status::text, …)`. */
function planOf({ table }: ApplicationTables['teams']): string {
  const pairs = fieldsOf(table).map((field) => {
    return `'${field.name}', ${comparable(`teams.${columnOf(field)}`, field.type)}`;
  });
  return `jsonb_build_object(${pairs.join(', ')})`;
}

/** The team still has the compared plan, or the customer still has no team. */
const OPEN = ({ teams }: ApplicationTables) => `
        from instep.findings as found
        left join lateral (
               select id, ${planOf(teams)} as plan
                 from ${teams.rows} as teams
                where provider_customer_id = found.customer_id
                  and (found.team_id = '' or id::text = found.team_id)
                limit 1
             ) as team on true
       where ($1::text[] is null or problem = any ($1))
         and case
               when team_id = '' then team.id is null
               else team.id is not null and team.plan = coalesce(found.plan, team.plan)
             end
         and (team_id <> '' or not exists (
               select
                 from instep.events
                where outcome = 'parked'
                  and customer_id = found.customer_id
             ))
         and ${isNotDismissed(
           "case team_id when '' then 'customer:' || customer_id else 'team:' || team_id end",
           'found_at',
         )}`;

const STORED_ISSUE = `
      select problem as cause,
             customer_id as "customerId",
             team.id as "teamId",
             found.plan,
             should_be as "shouldBe",
             refused_by as "refusedBy",
             extract(epoch from began_at)::bigint as "beganSeconds",
             (extract(epoch from coalesce(began_at, found_at)) * 1000)::bigint as "sinceMs"`;

const READ_STORED_ISSUES = (tables: ApplicationTables) => `
      ${STORED_ISSUE}
      ${OPEN(tables)}
         and customer_id > $2
       order by customer_id
       fetch first $3 rows with ties`;

type StoredIssuesPage = {
  /** Only these causes; `null`: all. */
  causes: readonly IssueCause[] | null;
  afterCustomerId: string;
  /** A page ends with the last team of a customer, so it can have more. */
  limit: number;
};

/** The issues that still hold, ordered by customer. A customer with a parked event has its own issue. */
export async function readStoredIssues(
  query: Query,
  page: StoredIssuesPage,
): Promise<StoredIssue[]> {
  return await query<StoredIssue>({
    name: 'read_stored_issues',
    text: READ_STORED_ISSUES,
    values: [page.causes, page.afterCustomerId, page.limit],
  });
}

const READ_STORED_ISSUE_OF = (tables: ApplicationTables) => `
      ${STORED_ISSUE}
      ${OPEN(tables)}
         and customer_id = $2
         and team_id = $3`;

/** What is wrong with a team according to its last comparison, if that still holds. */
export async function readStoredIssueOf(
  query: Query,
  { id, customerId }: Pick<Team, 'id' | 'customerId'>,
): Promise<StoredIssue | null> {
  const [found = null] = await query<StoredIssue>({
    name: 'read_stored_issue_of',
    text: READ_STORED_ISSUE_OF,
    values: [null, customerId, String(id)],
  });
  return found;
}

/** Counting stops here. */
export const MAX_COUNTED_STORED = 1_000;

const COUNT_STORED_ISSUES = (tables: ApplicationTables) => `
      select problem as cause, count(*) as count
        from (select problem ${OPEN(tables)} limit ${MAX_COUNTED_STORED}) as open
       group by problem`;

/** The number of issues that still hold, by cause. */
export async function countStoredIssues(query: Query): Promise<ReadonlyMap<IssueCause, number>> {
  const rows = await query<{ cause: IssueCause; count: number }>({
    name: 'count_stored_issues',
    text: COUNT_STORED_ISSUES,
    values: [null],
  });
  return new Map(rows.map(({ cause, count }) => [cause, count]));
}

/** SQL for whether an operator has taken this dismissal back. */
const IS_RESTORED = `exists (
                       select
                         from instep.operator_actions as restored
                        where restored.action = 'restore'
                          and restored.is_done
                          and restored.subject = dismissal.subject
                          and restored.acted_at >= dismissal.acted_at
                     )`;

/** SQL for whether no operator has dismissed the subject since it was found, or until a later time. */
export function isNotDismissed(subject: string, since: string): string {
  return `not exists (
               select
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.is_done
                  and dismissal.subject = ${subject}
                  and (dismissal.acted_at >= ${since} or dismissal.dismissed_until > now())
                  and not ${IS_RESTORED}
             )`;
}

const NEWEST_DISMISSAL = (subject: string) => `(
               select max(id)
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.is_done
                  and dismissal.subject = ${subject}
             )`;

/** The id of the newest dismissal of each subject that has one, even if it was taken back. */
export async function readNewestDismissals(
  query: Query,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await query<{ subject: string; id: number }>({
    name: 'read_newest_dismissals',
    text: `
      select subject, max(id) as id
        from instep.operator_actions
       where action = 'dismiss'
         and is_done
         and subject = any ($1::text[])
       group by subject`,
    values: [subjects],
  });
  return new Map(rows.map(({ subject, id }) => [subject, id]));
}

/** The id of the newest dismissal of a subject, for a transaction that alone adds or takes back one; `null`: there is none. */
export async function lockDismissals(query: Query, subject: string): Promise<number | null> {
  await query({
    name: 'lock_dismissals',
    text: `select pg_advisory_xact_lock(hashtextextended('instep dismiss ' || $1, 0))`,
    values: [subject],
  });
  return (await readNewestDismissals(query, [subject])).get(subject) ?? null;
}

/** What an operator has decided to leave as it is. */
export type Dismissal = {
  /** The newest of the team, with which all end. */
  readonly id: number;
  readonly teamId: string;
  readonly note: string | null;
  readonly operator: string | null;
  readonly dismissedAtMs: number;
  /** `null`: until the team or its subscription changes. */
  readonly untilMs: number | null;
};

/** A team, and what it has and should have; `null` stands for any plan. */
type Dismissable = Pick<FoundIssue, 'plan' | 'shouldBe'> & { readonly teamId: ApplicationId };

/**
 * The dismissals that hold for these teams, which every repair respects: those until a later time, and those of the
 * same difference.
 */
export async function readDismissals(
  query: Query,
  teams: readonly Dismissable[],
): Promise<ReadonlyMap<string, Dismissal>> {
  if (teams.length === 0) return new Map();
  const rows = teams.map(({ teamId, plan, shouldBe }) => ({
    subject: `team:${teamId}`,
    plan: plan && JSON.stringify(plan),
    shouldBe: shouldBe && JSON.stringify(shouldBe),
  }));
  const found = await query<Dismissal>({
    name: 'read_dismissals',
    text: `
      select distinct on (asked.subject)
             substr(asked.subject, length('team:') + 1) as "teamId",
             ${NEWEST_DISMISSAL('asked.subject')} as id,
             note,
             operator,
             (extract(epoch from acted_at) * 1000)::bigint as "dismissedAtMs",
             (extract(epoch from dismissed_until) * 1000)::bigint as "untilMs"
        from unnest($1::text[], $2::jsonb[], $3::jsonb[]) as asked (subject, plan, should_be)
        join instep.operator_actions as dismissal
          on dismissal.subject = asked.subject
         and dismissal.action = 'dismiss'
         and dismissal.is_done
       where (dismissed_until > now()
              or dismissed_until is null and exists (
                   select
                     from instep.findings
                    where 'team:' || team_id = asked.subject
                      and found_at <= dismissal.acted_at
                      and (asked.plan is null or plan = asked.plan)
                      and (asked.should_be is null or should_be = asked.should_be)
                 ))
         and not ${IS_RESTORED}
       order by asked.subject, dismissed_until desc nulls last, acted_at desc`,
    values: columnArrays(rows, 'subject', 'plan', 'shouldBe'),
  });
  return new Map(found.map((dismissal) => [dismissal.teamId, dismissal]));
}
