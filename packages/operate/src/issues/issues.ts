// All that can be wrong. Who finds, counts, shows or filters by issues reads it from here.

import type {
  Issue,
  IssueCode,
  ServiceIssue,
  ServiceIssueCode,
  ServiceState,
  Severity,
  SubjectIssue,
  SubjectIssueCode,
} from './issue.ts';
import * as service from './service-issues.ts';
import * as subject from './subject-issues.ts';

/** Everything that can be wrong, in the order in which it should be looked at. */
export const ISSUES = {
  'writes-not-committed': service.WRITES_NOT_COMMITTED,
  'deliveries-refused': service.DELIVERIES_REFUSED,
  'sessions-refused': service.SESSIONS_REFUSED,
  'parked-events': subject.PARKED_EVENTS,
  'unreadable-event': subject.UNREADABLE_EVENT,
  'nothing-delivered': service.NOTHING_DELIVERED,
  'events-in-other-mode': service.EVENTS_IN_OTHER_MODE,
  'events-of-other-accounts': service.EVENTS_OF_OTHER_ACCOUNTS,
  'unknown-order': subject.UNKNOWN_ORDER,
  'products-without-name': service.PRODUCTS_WITHOUT_NAME,
  'different-policies': service.DIFFERENT_POLICIES,
  'job-failed': service.JOB_FAILED,
  'changes-set-aside': service.CHANGES_SET_ASIDE,
  'consumer-behind': service.CONSUMER_BEHIND,
  'teams-not-compared': service.TEAMS_NOT_COMPARED,
  'comparison-overdue': service.COMPARISON_OVERDUE,
  'out-of-sync': subject.OUT_OF_SYNC,
  'changed-by-hand': subject.CHANGED_BY_HAND,
  'plan-refused': subject.PLAN_REFUSED,
  'customer-without-team': subject.CUSTOMER_WITHOUT_TEAM,
  'unknown-customer': subject.UNKNOWN_CUSTOMER,
  'paid-without-plan': subject.PAID_WITHOUT_A_PLAN,
  'payment-due': subject.PAYMENT_DUE,
  'end-not-confirmed': subject.END_NOT_CONFIRMED,
  'double-billed': subject.DOUBLE_BILLED,
} as const satisfies {
  readonly [Code in IssueCode]: Code extends SubjectIssueCode
    ? SubjectIssue<Code>
    : Code extends ServiceIssueCode
      ? ServiceIssue<Code>
      : never;
};

const SEVERITIES: readonly Severity[] = ['failure', 'warning', 'notice'];

const CODES = Object.keys(ISSUES) as readonly IssueCode[];

type Judged = { readonly code: IssueCode; readonly severity: Severity };

/** Sorts the most severe first. */
export const byUrgency = (a: Judged, b: Judged) =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  CODES.indexOf(a.code) - CODES.indexOf(b.code);

const isOfSubject = (code: IssueCode): code is SubjectIssueCode =>
  ISSUES[code].concerns !== 'service';

/** The issues of single teams, customers and events, the most severe first. */
export const SUBJECT_ISSUES: readonly SubjectIssueCode[] = CODES.filter(isOfSubject)
  .map((code) => ({ code, severity: ISSUES[code].severity }))
  .sort(byUrgency)
  .map(({ code }) => code);

type Finders = { readonly [Code in ServiceIssueCode]: Pick<ServiceIssue<Code>, 'find'> };

/** Finds what is wrong with the service, without I/O. */
export function serviceIssues(state: ServiceState, nowMs: number): Issue[] {
  const finders: Finders = ISSUES;
  function find<Code extends ServiceIssueCode>(code: Code): Issue[] {
    const found = finders[code].find(state, nowMs);
    if (found === null) return [];
    const { severity, concerns, remedies } = ISSUES[code];
    const { evidence, severity: unusual = severity, count = 1 } = found;
    const issue = { code, severity: unusual, concerns, remedies, count, isMore: false, evidence };
    return [issue as Issue];
  }
  return CODES.flatMap((code) => (isOfSubject(code) ? [] : find(code)));
}

/**
 * What is wrong, in a sentence without a period. The page or command that shows it adds what to do.
 *
 * @example
 * ```ts
 * import { type Issue, issueText } from 'instep/operate';
 *
 * const issue: Issue = {
 *   ...{ code: 'products-without-name', severity: 'warning', concerns: 'service' },
 *   ...{ remedies: [], count: 1, isMore: false, evidence: { products: 2 } },
 * };
 * console.log(issueText(issue, 1_800_000_000_000)); // The name of 2 products is unknown…
 * ```
 */
export function issueText(issue: Issue, nowMs: number): string {
  return textOf(issue, nowMs);
}

type Texts = {
  readonly [Code in IssueCode]: { readonly text: (issue: Issue<Code>, nowMs: number) => string };
};

function textOf<Code extends IssueCode>(issue: Issue<Code>, nowMs: number): string {
  const texts: Texts = ISSUES;
  return texts[issue.code].text(issue, nowMs);
}

/** What to do about each issue, from a terminal; commands are in backticks. */
export const ADVICE = Object.fromEntries(
  CODES.map((code) => [code, ISSUES[code].advice]),
) as Readonly<Record<IssueCode, string>>;

/** The issues by which teams are filtered. */
export const TEAM_ISSUES = [
  'out-of-sync',
  'changed-by-hand',
  'plan-refused',
  'unknown-customer',
  'unknown-order',
  'products-without-name',
] as const satisfies readonly IssueCode[];

export type TeamIssueCode = (typeof TEAM_ISSUES)[number];

/** SQL: whether a row of `teams` has this issue. */
export const HAS_ISSUE: Readonly<Record<TeamIssueCode, string>> = {
  'out-of-sync': subject.wasFound('out-of-sync'),
  'changed-by-hand': subject.wasFound('changed-by-hand'),
  'plan-refused': subject.wasFound('plan-refused'),
  'unknown-customer': subject.wasFound('unknown-customer'),
  'unknown-order': `
    exists (
      select
        from instep.customers as state
       where state.ambiguous_since is not null
         and state.customer_id = teams.provider_customer_id
    )`,
  'products-without-name': 'teams.provider_product_id is not null and teams.plan_name is null',
};
