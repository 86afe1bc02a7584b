// The list of everything that can be wrong: codes, severities, remedies and evidence. Who finds, counts, shows or
// filters by issues reads it from here.

import { ISSUE_CAUSES, type IssueCause } from 'instep-engine/postgres';
import type { FailedJob } from 'instep-engine/repair';
import type { Mode } from 'instep-engine/stripe';

/**
 * `failure`: events are lost or refused, users are signed out, or a team has a wrong plan. `warning`: an operator must decide, or
 * something can become worse. `notice`: it is probably over soon.
 */
export type Severity = 'failure' | 'warning' | 'notice';

/** What an issue concerns: the service as a whole, or one thing that an operator can act on. */
export type Concern = 'service' | 'team' | 'customer' | 'subscription' | 'event';

/** What resolves an issue: an action on its subject, or work at Stripe. */
export type Remedy =
  | 'link'
  | 'replay'
  | 'compare'
  | 'repair'
  | 'dismiss'
  | 'collect-payment'
  | 'cancel-subscription';

/** What every issue with one code has in common. */
export type IssueKind = {
  readonly severity: Severity;
  readonly concerns: Concern;
  /** None for an issue of the service: its advice says what to do. */
  readonly remedies: readonly Remedy[];
};

/** After this time, a team that keeps its plan although a payment is due needs attention. */
export const PAYMENT_DUE_DAYS = 14;

const kind = <Concerned extends Concern>(
  severity: Severity,
  concerns: Concerned,
  ...remedies: readonly Remedy[]
) => ({ severity, concerns, remedies }) as const;

/** Everything that can be wrong, in the order in which it should be looked at. */
export const ISSUES = {
  'writes-not-committed': kind('failure', 'service'),
  'deliveries-refused': kind('failure', 'service'),
  'sessions-refused': kind('failure', 'service'),
  'parked-events': kind('warning', 'customer', 'link', 'replay', 'dismiss'),
  'unreadable-event': kind('warning', 'event', 'replay', 'dismiss'),
  'nothing-delivered': kind('failure', 'service'),
  'events-in-other-mode': kind('failure', 'service'),
  'events-in-both-modes': kind('warning', 'service'),
  'events-of-other-accounts': kind('warning', 'service'),
  'unknown-order': kind('warning', 'subscription', 'compare', 'dismiss'),
  'products-without-name': kind('warning', 'service'),
  'different-policies': kind('warning', 'service'),
  'job-failed': kind('warning', 'service'),
  'changes-set-aside': kind('warning', 'service'),
  'consumer-behind': kind('warning', 'service'),
  'teams-not-compared': kind('warning', 'service'),
  'comparison-overdue': kind('warning', 'service'),
  'out-of-sync': kind('failure', 'team', 'repair', 'compare', 'dismiss'),
  'changed-by-hand': kind('failure', 'team', 'repair', 'compare', 'dismiss'),
  'plan-refused': kind('failure', 'team', 'repair', 'compare', 'dismiss'),
  'customer-without-team': kind('warning', 'customer', 'link', 'dismiss'),
  'unknown-customer': kind('warning', 'team', 'link', 'compare', 'dismiss'),
  'paid-without-plan': kind('warning', 'team', 'dismiss', 'cancel-subscription'),
  'payment-due': kind('warning', 'team', 'dismiss', 'collect-payment'),
  'end-not-confirmed': kind('warning', 'team', 'compare', 'dismiss'),
  'double-billed': kind('warning', 'customer', 'dismiss', 'cancel-subscription'),
} as const satisfies Record<string, IssueKind>;

export type IssueCode = keyof typeof ISSUES;

/** The issues of single teams, customers, subscriptions and events. All others concern the whole service. */
export type SubjectIssueCode = {
  [Code in IssueCode]: (typeof ISSUES)[Code]['concerns'] extends 'service' ? never : Code;
}[IssueCode];

/** The issue for each cause. A team whose plan has another name differs from Stripe. */
export const CODE_OF_CAUSE = {
  'missed event': 'out-of-sync',
  'never seen': 'out-of-sync',
  'no subscription': 'out-of-sync',
  'another plan name': 'out-of-sync',
  'changed by hand': 'changed-by-hand',
  'plan refused': 'plan-refused',
  'unknown customer': 'unknown-customer',
  'customer without a team': 'customer-without-team',
} as const satisfies Record<IssueCause, SubjectIssueCode>;

/** The issues that are stored in `instep.findings`: comparisons find them and, if the application refuses a plan, ingest. */
export type ComparisonIssueCode = (typeof CODE_OF_CAUSE)[IssueCause];

export const COMPARISON_ISSUES: readonly ComparisonIssueCode[] = [
  ...new Set(Object.values(CODE_OF_CAUSE)),
];

/** How many of each are open; `isMore` where counting stopped. */
export type IssueCounts = Readonly<
  Record<SubjectIssueCode, { readonly count: number; readonly isMore: boolean }>
>;

/** What is known besides the number of subjects. Times are in milliseconds since 1970. */
export type Evidence = {
  'parked-events': { readonly events: number; readonly sinceMs: number | null };
  'nothing-delivered': { readonly sinceMs: number };
  'events-in-other-mode': ModeEvidence;
  'events-in-both-modes': ModeEvidence;
  'events-of-other-accounts': {
    readonly events: number;
    readonly of: number;
    readonly accounts: readonly string[];
  };
  'products-without-name': { readonly products: number };
  'different-policies': { readonly otherPolicy: string };
  'deliveries-refused': Refusals;
  'sessions-refused': Refusals;
  'job-failed': { readonly jobs: readonly FailedJob[] };
  'changes-set-aside': { readonly consumers: readonly ConsumerProgress[] };
  'consumer-behind': { readonly consumers: readonly ConsumerProgress[] };
  'teams-not-compared': {
    readonly linked: number;
    readonly uncompared: number;
    /** When all teams are compared next; `null`: unknown. */
    readonly nextAtMs: number | null;
  };
  'comparison-overdue': { readonly endedAtMs: number; readonly nextAtMs: number | null };
};

export type RefusalKind = 'deliveries' | 'sessions';

/** Deliveries or session cookies that were refused, because their signature is of another secret, and since when. */
export type Refusals = { readonly refused: number; readonly sinceMs: number };

/** How far a consumer of changes of plans is. */
export type ConsumerProgress = {
  readonly name: string;
  /** When the oldest change was made that was not passed to it, in milliseconds since 1970; `null`: there is none. */
  readonly behindSinceMs: number | null;
  /** The changes that it failed to handle. */
  readonly setAside: number;
};

/** How far teams are compared with Stripe. Times are in milliseconds since 1970. */
export type Compared = {
  /** The last comparison of all teams that was completed; `null`: none was. */
  readonly completed: { readonly startedAtMs: number; readonly endedAtMs: number } | null;
  /** How often all teams are compared; `null`: unknown. */
  readonly intervalMs: number | null;
  /** The teams with a customer, and those of them about whom Stripe has not answered yet; `null`: unknown. */
  readonly teams: { readonly linked: number; readonly uncompared: number } | null;
  /** Whether a job compares new teams one by one, within seconds. */
  readonly isFollowing: boolean;
};

/** Of the last events, how many are in this mode. */
export type ModeEvidence = {
  readonly events: number;
  readonly of: number;
  readonly mode: Mode;
  readonly keyMode: Mode | null;
};

type EvidenceOf<Code extends IssueCode> = Code extends keyof Evidence
  ? Evidence[Code]
  : Readonly<Record<never, never>>;

type IssueOf<Code extends IssueCode> = IssueKind & {
  readonly code: Code;
  /** The number of subjects; 1 if the issue concerns the service. */
  readonly count: number;
  /** Whether counting stopped at `count`. */
  readonly isMore: boolean;
  readonly evidence: EvidenceOf<Code>;
};

/** Something that is wrong, with the number of its subjects. */
export type Issue = { [Code in IssueCode]: IssueOf<Code> }[IssueCode];

/** An issue with one subject, unless told otherwise, and of the usual severity. */
export function issue<Code extends IssueCode>(
  code: Code,
  evidence: EvidenceOf<Code>,
  unusual: Partial<Pick<Issue, 'severity' | 'count' | 'isMore'>> = {},
): IssueOf<Code> {
  const kind: IssueKind = ISSUES[code];
  return { code, ...kind, count: 1, isMore: false, ...unusual, evidence };
}

const isOfSubject = (code: string): code is SubjectIssueCode =>
  ISSUES[code as IssueCode].concerns !== 'service';

const SEVERITIES: readonly Severity[] = ['failure', 'warning', 'notice'];

type Judged = { readonly severity: Severity };

/** Sorts the most severe first. */
export const bySeverity = (a: Judged, b: Judged) =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);

/** The issues of single teams, customers, subscriptions and events, the most severe first. */
export const SUBJECT_ISSUES: readonly SubjectIssueCode[] = Object.keys(ISSUES)
  .filter(isOfSubject)
  .sort((a, b) => bySeverity(ISSUES[a], ISSUES[b]));

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

const isFound = (code: ComparisonIssueCode) => `
    exists (
      select
        from instep.findings as found
       where found.customer_id = teams.provider_customer_id
         and found.team_id = teams.id::text
         and found.problem in (${ISSUE_CAUSES.filter((cause) => CODE_OF_CAUSE[cause] === code)
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
        from instep.customers as state
       where state.ambiguous_since is not null
         and state.customer_id = teams.provider_customer_id
    )`,
  'products-without-name': 'teams.provider_product_id is not null and teams.plan_name is null',
};
