// The issues of single teams, customers and events: each is the SQL that finds it. Nothing of it is stored, except what only
// Stripe can tell (the engine's `instep.findings`). find-issues.ts leaves out what operators have dismissed.

import {
  type ApplicationTables,
  type IssueCause,
  PAID_WITHOUT_PLAN,
  planAsJson,
} from 'instep-engine/postgres';
import { END_MARGIN_SECONDS } from 'instep-engine/rule';
import { durationText } from 'instep-engine/runtime';
import {
  REPAIR,
  SERVER_ASKS,
  type SubjectIssue,
  type SubjectIssueCode,
  subjectsText,
} from './issue.ts';

const subjectIssue = <Code extends SubjectIssueCode>(issue: SubjectIssue<Code>) => issue;

/** Counting a customer's events stops here. */
export const MAX_COUNTED_OF_CUSTOMER = 100;

/** SQL: whether a customer has no team now. */
const hasNoTeam = ({ teams }: ApplicationTables, customerId: string) => `
         not exists (select from ${teams.rows} as teams where provider_customer_id = ${customerId})`;

/** Events that wait for a team. Dismissed ones are an issue again when another one arrives. */
export const PARKED_EVENTS = subjectIssue<'parked-events'>({
  severity: 'warning',
  concerns: 'customer',
  remedies: ['link', 'replay', 'dismiss'],
  rows: () => `
      select customer_id as key,
             'customer:' || customer_id as subject,
             customer_id,
             null::text as team_id,
             since,
             changed_at,
             jsonb_build_object('events', events, 'newestPosition', newest_position) as evidence
        from instep.customers
       cross join lateral (
               select count(*) as events,
                      max(position) as newest_position,
                      min(received_at) as since,
                      max(received_at) as changed_at
                 from (
                        select position, received_at
                          from instep.events as event
                         where outcome = 'parked'
                           and event.customer_id = customers.customer_id
                         limit ${MAX_COUNTED_OF_CUSTOMER}
                      ) as counted
             ) as parked
       where waiting is not null
         and events > 0`,
  text(issue, nowMs) {
    const { sinceMs } = issue.evidence;
    const waited =
      sinceMs === null ? '' : `; the oldest has waited ${durationText(nowMs - sinceMs)}`;
    return `Events of ${subjectsText('customer', issue)} wait for a team${waited}`;
  },
  advice:
    'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
});

// Only unreadable events have no customer, and the index `events_of_customer` has these first. The newest are listed first.
export const UNREADABLE_EVENT = subjectIssue<'unreadable-event'>({
  severity: 'warning',
  concerns: 'event',
  remedies: ['replay', 'dismiss'],
  rows: () => `
      select to_char(9e15 - position, 'FM0000000000000000') as key,
             'event:' || position as subject,
             null::text as customer_id,
             null::text as team_id,
             received_at as since,
             received_at as changed_at,
             jsonb_build_object('position', position) as evidence
        from instep.events
       where customer_id is null
         and outcome = 'unreadable'`,
  text: (issue) => `${subjectsText('event', issue)} could not be read`,
  advice:
    'upgrade Instep and replay them: `instep events replay --outcome unreadable`; if that does not help, report the reason from the log lines `event unreadable`',
});

/** Not decided by Stripe for ten minutes. */
export const UNKNOWN_ORDER = subjectIssue<'unknown-order'>({
  severity: 'warning',
  concerns: 'team',
  remedies: ['compare', 'dismiss'],
  rows: ({ teams }) => `
      select customer_id as key,
             'team:' || teams.id as subject,
             customer_id,
             teams.id::text as team_id,
             ambiguous_since as since,
             ambiguous_since as changed_at,
             jsonb_build_object('subscriptionId', ambiguous_subscription_id) as evidence
        from instep.customers
        join ${teams.rows} as teams on provider_customer_id = customer_id
       where ambiguous_since < now() - interval '10 minutes'
         and ambiguous_subscription_id is not null`,
  text: (issue) => `${subjectsText('team', issue)} with same-second events whose order is unknown`,
  advice: SERVER_ASKS,
});

/** SQL: what comparisons found for these causes, while the team has the compared plan, or the customer has no team. */
const found = ({ teams }: ApplicationTables, causes: readonly IssueCause[]) => `
      select found.customer_id as key,
             case found.team_id when '' then 'customer:' || found.customer_id else 'team:' || found.team_id end as subject,
             found.customer_id,
             nullif(found.team_id, '') as team_id,
             coalesce(began_at, found_at) as since,
             found_at as changed_at,
             jsonb_build_object('cause', problem, 'is', found.plan, 'shouldBe', should_be, 'refusedBy', refused_by)
               as evidence
        from instep.findings as found
        left join lateral (
               select id, ${planAsJson(teams)} as plan
                 from ${teams.rows} as teams
                where provider_customer_id = found.customer_id
                  and (found.team_id = '' or id::text = found.team_id)
                limit 1
             ) as team on true
       where problem in (${causes.map((cause) => `'${cause}'`).join(', ')})
         and case
               when team_id = '' then team.id is null
               else team.id is not null and team.plan = coalesce(found.plan, team.plan)
             end`;

/** The causes of each issue that comparisons find. A team whose plan has another name differs from Stripe. */
const CAUSES = {
  'out-of-sync': ['missed event', 'never seen', 'no subscription', 'another plan name'],
  'changed-by-hand': ['changed by hand'],
  'plan-refused': ['plan refused'],
  'unknown-customer': ['unknown customer'],
} as const satisfies Partial<Record<SubjectIssueCode, readonly IssueCause[]>>;

/** SQL: whether a row of `teams` has an issue that comparisons found. */
export const wasFound = (code: keyof typeof CAUSES) => `
    exists (
      select
        from instep.findings as found
       where found.customer_id = teams.provider_customer_id
         and found.team_id = teams.id::text
         and found.problem in (${CAUSES[code].map((cause) => `'${cause}'`).join(', ')})
    )`;

/** An issue of teams that comparisons find and, if the application refuses a plan, the ingest pipeline. */
const comparisonIssue = <Code extends keyof typeof CAUSES>(
  code: Code,
  issue: Pick<SubjectIssue<Code>, 'severity' | 'remedies' | 'text' | 'advice'>,
): SubjectIssue<Code> => ({
  ...issue,
  concerns: 'team',
  rows: (tables) => found(tables, CAUSES[code]),
});

export const OUT_OF_SYNC = comparisonIssue('out-of-sync', {
  severity: 'failure',
  remedies: ['repair', 'compare', 'dismiss'],
  text: (issue) => `${subjectsText('team', issue)} out of sync with Stripe`,
  advice: REPAIR,
});

export const CHANGED_BY_HAND = comparisonIssue('changed-by-hand', {
  severity: 'failure',
  remedies: ['repair', 'compare', 'dismiss'],
  text: (issue) => `${subjectsText('team', issue)} changed by hand, not by an event`,
  advice: REPAIR,
});

export const PLAN_REFUSED = comparisonIssue('plan-refused', {
  severity: 'failure',
  remedies: ['repair', 'compare', 'dismiss'],
  text: (issue) =>
    `${subjectsText('team', issue)} with a plan that the database refuses or does not write in time`,
  advice: 'read the reason in the server log, then repair them: `instep reconcile`',
});

export const UNKNOWN_CUSTOMER = comparisonIssue('unknown-customer', {
  severity: 'warning',
  remedies: ['link', 'compare', 'dismiss'],
  text: (issue) => `${subjectsText('team', issue)} with a customer that Stripe does not know`,
  advice:
    'link the right customer to each: `instep team link ID --customer CUS --replace OLD`; if Stripe knows none of them, check the account and the mode of the API key',
});

/**
 * A customer with a live subscription and without a team: operators took its team away, or a comparison found it at
 * Stripe. While its events wait for a team, that is its issue.
 */
export const CUSTOMER_WITHOUT_TEAM = subjectIssue<'customer-without-team'>({
  severity: 'warning',
  concerns: 'customer',
  remedies: ['link', 'dismiss'],
  rows: (tables) => `
      select *
        from (
               select customer_id as key,
                      'customer:' || customer_id as subject,
                      customer_id,
                      null::text as team_id,
                      max(acted_at) as since,
                      max(acted_at) as changed_at,
                      '{"cause": "customer without a team", "is": null, "shouldBe": null, "refusedBy": null}'::jsonb
                        as evidence
                 from instep.operator_actions
                 join instep.customers on customer_id = unlinked_customer_id
                where grants_plan
                  and ${hasNoTeam(tables, 'customer_id')}
                group by customer_id
                union all
               ${found(tables, ['customer without a team'])}
                  and not exists (
                        select
                          from instep.operator_actions
                          join instep.customers as known on known.customer_id = unlinked_customer_id
                         where unlinked_customer_id = found.customer_id
                           and grants_plan
                      )
             ) as without_team
       where not exists (
               select
                 from instep.events as event
                where outcome = 'parked'
                  and event.customer_id = without_team.customer_id
             )`,
  text: (issue) => `${subjectsText('customer', issue)} with a subscription but without a team`,
  advice: 'link each to its team: `instep team link ID --customer CUS`',
});

/** With TEAM_PLAN=newest, the end of one subscription counts more than another one that goes on. */
export const PAID_WITHOUT_A_PLAN = subjectIssue<'paid-without-plan'>({
  severity: 'warning',
  concerns: 'team',
  remedies: ['dismiss', 'cancel-subscription'],
  rows: (tables) => `
      select state.customer_id as key,
             'team:' || teams.id as subject,
             state.customer_id,
             teams.id::text as team_id,
             state.access_since as since,
             state.access_since as changed_at,
             null::jsonb as evidence
      ${PAID_WITHOUT_PLAN(tables)}`,
  text: (issue) =>
    `${subjectsText('team', issue)} without a plan, because a subscription of the customer has ended; another one goes on`,
  advice: 'set TEAM_PLAN=best and restart, or cancel the subscriptions that go on at Stripe',
});

/** After this time, a team that keeps its plan although a payment is due needs attention. */
const PAYMENT_DUE_DAYS = 14;

// The planner would expect one customer of all, and read all to find it, if it saw the condition on the team.
export const PAYMENT_DUE = subjectIssue<'payment-due'>({
  severity: 'warning',
  concerns: 'team',
  remedies: ['dismiss', 'collect-payment'],
  rows: ({ teams }) => `
      select state.customer_id as key,
             'team:' || team.id as subject,
             state.customer_id,
             team.id::text as team_id,
             access_since as since,
             access_since as changed_at,
             jsonb_build_object('subscriptionId', access_subscription_id, 'planName', team.plan_name) as evidence
        from instep.customers as state
       cross join lateral (
               select id, plan_name
                 from ${teams.rows} as teams
                where provider_customer_id = state.customer_id
                  and provider_subscription_id = state.access_subscription_id
               offset 0
             ) as team
       where due_since < now() - interval '${PAYMENT_DUE_DAYS} days'
         and access_status = 'past_due'
         and access_since < now() - interval '${PAYMENT_DUE_DAYS} days'`,
  text: (issue) =>
    `${subjectsText('team', issue)} with a plan whose payment has been due for more than ${PAYMENT_DUE_DAYS} days`,
  advice:
    'cancel the subscriptions or mark them unpaid at Stripe (Settings, Billing, Subscriptions), or set PAST_DUE_GRACE and ask instep.team_access',
});

/** The planned end of a team's subscription has passed by the margin that the view gives it. */
export const END_NOT_CONFIRMED = subjectIssue<'end-not-confirmed'>({
  severity: 'warning',
  concerns: 'team',
  remedies: ['compare', 'dismiss'],
  rows: ({ teams }) => `
      select state.customer_id as key,
             'team:' || teams.id as subject,
             state.customer_id,
             teams.id::text as team_id,
             access_ends_at as since,
             access_ends_at as changed_at,
             jsonb_build_object('subscriptionId', access_subscription_id) as evidence
        from instep.customers as state
        join ${teams.rows} as teams on provider_customer_id = state.customer_id
       where access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds'
         and access_subscription_id is not null`,
  text: (issue) =>
    `${subjectsText('team', issue)} without access, because the end of the subscription has passed; no event has confirmed it`,
  advice: SERVER_ASKS,
});

/** Those that an operator has dismissed are on purpose, until Stripe charges other subscriptions. */
export const DOUBLE_BILLED = subjectIssue<'double-billed'>({
  severity: 'warning',
  concerns: 'customer',
  remedies: ['dismiss', 'cancel-subscription'],
  rows: () => `
      select customer_id as key,
             'customer:' || customer_id as subject,
             customer_id,
             null::text as team_id,
             charged_twice_since as since,
             charged_twice_since as changed_at,
             null::jsonb as evidence
        from instep.customers
       where charged_twice is not null`,
  text: (issue) =>
    `${subjectsText('customer', issue)} with several subscriptions that Stripe charges at once`,
  advice:
    'cancel the subscription that is not wanted at Stripe, or dismiss the issue in the console with a note',
});
