import { PROBLEMS } from '../postgres/statements/findings.ts';
import { CODE_OF_CAUSE, type FindingCode, type IssueCode } from './issues.ts';

/** The issues by which teams are counted and filtered. */
export const TEAM_ISSUES = [
  'out-of-sync',
  'changed-by-hand',
  'plan-refused',
  'unknown-customer',
  'unknown-order',
  'parked-events',
  'products-without-name',
] as const satisfies readonly IssueCode[];

export type TeamIssueCode = (typeof TEAM_ISSUES)[number];

const isFound = (code: FindingCode) => `
    exists (
      select
        from instep.findings as finding
       where finding.customer_id = teams.provider_customer_id
         and finding.team_id = teams.id::text
         and finding.problem in (${PROBLEMS.filter((cause) => CODE_OF_CAUSE[cause] === code)
           .map((cause) => `'${cause}'`)
           .join(', ')})
    )`;

/** SQL: whether a row of `teams` has this issue. */
export const HAS_ISSUE: Readonly<Record<TeamIssueCode, string>> = {
  'out-of-sync': isFound('out-of-sync'),
  'changed-by-hand': isFound('changed-by-hand'),
  'plan-refused': isFound('plan-refused'),
  'unknown-customer': isFound('unknown-customer'),
  'unknown-order': `
    exists (
      select
        from instep.subscriptions as state
       where state.is_order_ambiguous
         and state.customer_id = teams.provider_customer_id
    )`,
  'parked-events': `
    exists (
      select
        from instep.events as event
       where event.outcome = 'parked'
         and event.customer_id = teams.provider_customer_id
    )`,
  'products-without-name': 'teams.provider_product_id is not null and teams.plan_name is null',
};
