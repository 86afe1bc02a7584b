// What an issue is: something that is wrong with the service, or with one team, customer or event. Each one is an object with
// all that is known about its kind: service-issues.ts and subject-issues.ts have them.

import type { EventRow } from 'instep-engine/log';
import type { ApplicationTables, IssueCause } from 'instep-engine/postgres';
import type { Progress } from 'instep-engine/repair';
import type { Plan, PlanInRow } from 'instep-engine/rule';
import { counted, countText } from 'instep-engine/runtime';
import type { EventOrigin, Mode } from 'instep-engine/stripe';
import type { Reason } from '../event-log/reasons.ts';
import type { NamedTeam } from '../teams/named-teams.ts';
import type { FailedJob } from './failed-jobs.ts';
import type { Figures } from './figures.ts';
import type { TeamCounts } from './team-counts.ts';

/**
 * `failure`: events are lost or refused, users are signed out, or a team has a wrong plan. `warning`: an operator must decide, or
 * something can become worse. `notice`: it is probably over soon.
 */
export type Severity = 'failure' | 'warning' | 'notice';

/** What an issue concerns: the service as a whole, or one thing that an operator can act on. */
export type Concern = 'service' | 'team' | 'customer' | 'event';

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

/** What is known about an issue of the service. Times are in milliseconds since 1970. */
export type Evidence = {
  readonly 'writes-not-committed': NoEvidence;
  readonly 'deliveries-refused': Refusals;
  readonly 'sessions-refused': Refusals;
  readonly 'nothing-delivered': { readonly sinceMs: number };
  /** Of the last events, how many are in this mode. */
  readonly 'events-in-other-mode': {
    readonly events: number;
    readonly of: number;
    readonly mode: Mode;
    /** `null`: unknown. */
    readonly keyMode: Mode | null;
  };
  readonly 'events-of-other-accounts': {
    readonly events: number;
    readonly of: number;
    readonly accounts: readonly string[];
  };
  readonly 'products-without-name': { readonly products: number };
  readonly 'different-policies': { readonly otherPolicy: string };
  readonly 'job-failed': { readonly jobs: readonly FailedJob[] };
  readonly 'changes-set-aside': { readonly consumers: readonly ConsumerProgress[] };
  readonly 'consumer-behind': { readonly consumers: readonly ConsumerProgress[] };
  readonly 'teams-not-compared': {
    readonly linked: number;
    readonly uncompared: number;
    /** When all teams are compared next; `null`: unknown. */
    readonly nextAtMs: number | null;
  };
  readonly 'comparison-overdue': { readonly endedAtMs: number; readonly nextAtMs: number | null };
  /** When the oldest of all arrived. */
  readonly 'parked-events': { readonly sinceMs: number | null };
};

type NoEvidence = Readonly<Record<never, never>>;

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
  readonly completed: Progress['completed'];
  /** How often all teams are compared; `null`: unknown. */
  readonly intervalMs: number | null;
  /** The teams with a customer, and those of them about whom Stripe has not answered yet; `null`: unknown. */
  readonly teams: Pick<TeamCounts, 'linked' | 'uncompared'> | null;
  /** Whether a job compares new teams one by one, within seconds. */
  readonly isFollowing: boolean;
};

/** What is known about an issue with one subject, by its code. */
export type IssueEvidence = {
  readonly 'out-of-sync': ComparisonEvidence;
  readonly 'changed-by-hand': ComparisonEvidence;
  readonly 'plan-refused': ComparisonEvidence;
  readonly 'unknown-customer': ComparisonEvidence;
  readonly 'customer-without-team': ComparisonEvidence;
  readonly 'parked-events': {
    /** At most 100 events are counted. */
    readonly events: number;
    /** The newest of them, and so what the customer has subscribed to: see `subscriptionOf`. */
    readonly newest: EventRow | null;
    /** The team that the metadata of the newest event's subscription names; it can have another customer. */
    readonly suggestedTeam: NamedTeam | null;
  };
  readonly 'unknown-order': { readonly subscriptionId: string };
  readonly 'end-not-confirmed': { readonly subscriptionId: string };
  /** The subscription that goes on. */
  readonly 'paid-without-plan': {
    readonly subscriptionId: string | null;
    readonly planName: string | null;
  };
  readonly 'payment-due': { readonly subscriptionId: string; readonly planName: string | null };
  /** The customer can have no team any more. Otherwise the team's plan shows which one it follows. */
  readonly 'double-billed': { readonly subscriptions: readonly ChargedSubscription[] };
  readonly 'unreadable-event': { readonly event: EventRow; readonly reason: Reason };
};

/** What a comparison with Stripe, or with the event log, found. */
export type ComparisonEvidence = {
  readonly cause: IssueCause;
  /** What the team has and should have; `null` if the issue is about the customer. */
  readonly is: PlanInRow | null;
  readonly shouldBe: PlanInRow | null;
  /** The constraint that refuses the plan; `null`: unknown, or nothing is refused. */
  readonly refusedBy: string | null;
};

/** A subscription that Stripe charges. What its latest event does not say is `null`. */
export type ChargedSubscription = Plan & {
  readonly status: string;
  /** Since when it has its status. */
  readonly sinceMs: number;
};

/** The issues of single teams, customers and events. */
export type SubjectIssueCode = keyof IssueEvidence;
export type ServiceIssueCode = Exclude<keyof Evidence, 'parked-events'>;
export type IssueCode = SubjectIssueCode | ServiceIssueCode;

/** The state from which the issues of the service follow. */
export type ServiceState = {
  readonly figures: Figures;
  /** The policy for access of an instance that differs from the stored one; `null`: none does. */
  readonly otherPolicy: string | null;
  /** The origins of the last events, the newest first. */
  readonly origins: readonly EventOrigin[];
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  readonly compared: Compared;
  readonly failedJobs: readonly FailedJob[];
  readonly consumers: readonly ConsumerProgress[];
  readonly refusals: ReadonlyMap<RefusalKind, Refusals>;
};

/** What was found of an issue of the service, if it is there. */
export type Found<Code extends ServiceIssueCode> = {
  readonly evidence: Evidence[Code];
  /** Other than usually. */
  readonly severity?: Severity | undefined;
  /** 1 by default. */
  readonly count?: number;
};

/** An issue of the service. */
export type ServiceIssue<Code extends ServiceIssueCode> = IssueKind & {
  readonly concerns: 'service';
  /** Finds it in the state, without I/O. */
  readonly find: (state: ServiceState, nowMs: number) => Found<Code> | null;
} & Words<Code>;

/** An issue of single teams, customers or events. */
export type SubjectIssue<Code extends SubjectIssueCode> = IssueKind & {
  readonly concerns: Exclude<Concern, 'service'>;
  /**
   * The SQL of all that have it, with these columns: `key`, in whose order they are listed; `subject`, of an action on it;
   * `customer_id`; `team_id` as text, where a team has it; `since`; `changed_at`, when a dismissal from before ends; and
   * what is known as `evidence`.
   */
  readonly rows: (tables: ApplicationTables) => string;
} & Words<Code>;

type Words<Code extends IssueCode> = {
  /** What is wrong, in a sentence without a period. */
  readonly text: (issue: IssueOf<Code>, nowMs: number) => string;
  /** What to do, from a terminal; commands are in backticks. */
  readonly advice: string;
};

type IssueOf<Code extends IssueCode> = {
  readonly [One in Code]: IssueKind & {
    readonly code: One;
    /** The number of subjects; 1 if the issue concerns the service. */
    readonly count: number;
    /** Whether counting stopped at `count`. */
    readonly isMore: boolean;
    readonly evidence: One extends keyof Evidence ? Evidence[One] : NoEvidence;
  };
}[Code];

/** Something that is wrong, with the number of its subjects. */
export type Issue<Code extends IssueCode = IssueCode> = IssueOf<Code>;

/** How many of each there are. */
export type IssueCounts = Readonly<
  Record<
    SubjectIssueCode,
    Pick<Issue, 'count' | 'isMore'> & {
      /** Those that operators have dismissed. */
      readonly hidden: number;
      /** Since when the oldest is open; `null`: there is none. */
      readonly sinceMs: number | null;
    }
  >
>;

/** Advice that several issues have. */
export const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and what STRIPE_SECRET_KEY can read';
export const REPAIR = 'compare and repair them: `instep reconcile`';

/** `2 teams`, or `1,000+ teams` where counting stopped. */
export function subjectsText(noun: string, { count, isMore }: Pick<Issue, 'count' | 'isMore'>) {
  return isMore ? `${countText(count, count)} ${noun}s` : counted(count, noun);
}
