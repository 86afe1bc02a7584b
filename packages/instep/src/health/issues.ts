import { ISSUE_CAUSES, type IssueCause } from '../postgres/statements/issues.ts';
import { type EventOrigin, type Mode, mismatchOf } from '../stripe/key-kind.ts';
import type { Health } from './health.ts';

/**
 * `failure`: events are lost or refused, users are signed out, or a team has a wrong plan. `warning`: an operator must decide, or
 * something can become worse. `notice`: it is probably over soon.
 */
export type Severity = 'failure' | 'warning' | 'notice';

/** What an issue concerns: the service as a whole, or one thing that an operator can act on. */
export type Concern = 'service' | 'team' | 'customer' | 'subscription' | 'event';

/** What resolves an issue: an action on its subject, or work outside of Instep. */
export type Remedy =
  | 'link'
  | 'replay'
  | 'compare'
  | 'repair'
  | 'keep-as-grant'
  | 'dismiss'
  | 'check-database'
  | 'check-endpoint'
  | 'check-signing-secret'
  | 'check-session-secret'
  | 'check-log'
  | 'run-consumer'
  | 'replay-changes'
  | 'compare-all'
  | 'check-key-permissions'
  | 'match-key-and-secret'
  | 'separate-modes'
  | 'register-own-account'
  | 'upgrade'
  | 'match-variables'
  | 'collect-payment'
  | 'cancel-subscription';

/** What every issue with one code has in common. */
export type IssueKind = {
  readonly severity: Severity;
  readonly concerns: Concern;
  readonly remedies: readonly Remedy[];
};

const DRIFTED = {
  severity: 'failure',
  concerns: 'team',
  remedies: ['repair', 'compare', 'dismiss'],
} as const;

/** After this time, a team that keeps its plan although a payment is due needs attention. */
export const PAYMENT_DUE_DAYS = 14;

/** Everything that can be wrong, in the order in which it should be looked at. */
export const ISSUES = {
  'writes-not-committed': {
    severity: 'failure',
    concerns: 'service',
    remedies: ['check-database'],
  },
  'deliveries-refused': {
    severity: 'failure',
    concerns: 'service',
    remedies: ['check-signing-secret'],
  },
  'sessions-refused': {
    severity: 'failure',
    concerns: 'service',
    remedies: ['check-session-secret'],
  },
  'parked-events': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['link', 'replay', 'dismiss'],
  },
  'second-customer': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['link', 'dismiss'],
  },
  'unreadable-event': {
    severity: 'warning',
    concerns: 'event',
    remedies: ['replay', 'dismiss', 'upgrade'],
  },
  'nothing-delivered': {
    severity: 'failure',
    concerns: 'service',
    remedies: ['check-endpoint'],
  },
  'events-in-other-mode': {
    severity: 'failure',
    concerns: 'service',
    remedies: ['match-key-and-secret'],
  },
  'events-in-both-modes': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['separate-modes', 'match-key-and-secret'],
  },
  'events-of-other-accounts': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['register-own-account'],
  },
  'unknown-order': {
    severity: 'warning',
    concerns: 'subscription',
    remedies: ['compare', 'dismiss', 'check-key-permissions'],
  },
  'products-without-name': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['check-key-permissions'],
  },
  'catch-up-too-long': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['check-key-permissions'],
  },
  'different-policies': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['match-variables'],
  },
  'job-failed': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['check-log'],
  },
  'changes-set-aside': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['replay-changes'],
  },
  'consumer-behind': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['run-consumer'],
  },
  'teams-not-compared': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['compare-all'],
  },
  'comparison-overdue': {
    severity: 'warning',
    concerns: 'service',
    remedies: ['compare-all', 'check-log'],
  },
  'out-of-sync': DRIFTED,
  'changed-by-hand': {
    severity: 'failure',
    concerns: 'team',
    remedies: ['repair', 'compare', 'keep-as-grant', 'dismiss'],
  },
  'plan-refused': DRIFTED,
  'customer-without-team': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['link', 'dismiss'],
  },
  'unknown-customer': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['link', 'compare', 'dismiss'],
  },
  'payment-due': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['dismiss', 'collect-payment'],
  },
  'double-billed': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['dismiss', 'cancel-subscription'],
  },
  'other-team-named': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['dismiss', 'cancel-subscription'],
  },
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
  'another team named': 'other-team-named',
} as const satisfies Record<IssueCause, SubjectIssueCode>;

/** The issues that comparisons with Stripe and with the event log find. */
export type ComparisonIssueCode = (typeof CODE_OF_CAUSE)[IssueCause];

export const COMPARISON_ISSUES: readonly ComparisonIssueCode[] = [
  ...new Set(Object.values(CODE_OF_CAUSE)),
];

/** How many of each are open; `isMore` where counting stopped. */
export type IssueCounts = Readonly<
  Record<SubjectIssueCode, { readonly count: number; readonly isMore: boolean }>
> & {
  /** `charged`: those that Stripe charges while the team has a subscription of its own customer. */
  readonly 'second-customer': { readonly charged: number };
};

/** What is known besides the number of subjects. Times are in milliseconds since 1970. */
export type Evidence = {
  /** How many of them Stripe charges, and the team's own customer as well. */
  'second-customer': { readonly charged: number };
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
  'catch-up-too-long': { readonly sinceMs: number };
  'different-policies': { readonly policies: readonly string[] };
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

/** Deliveries or session cookies of the last day that were refused because their signature is of another secret. */
export type Refusals = {
  readonly refused: number;
  readonly accepted: number;
  readonly sinceMs: number;
};

/** A job whose last run failed, and when it is tried again. Times are in milliseconds since 1970. */
export type FailedJob = {
  readonly job: string;
  /** The code of the error; `other` for an unexpected one. */
  readonly code: string;
  /** The first of the failures in a row. */
  readonly sinceMs: number;
  readonly attemptAtMs: number;
};

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
  /** The teams with a customer, and those of them that were never compared; `null`: not counted yet. */
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

/** Something that is wrong, with the number of its subjects. */
export type Issue = {
  [Code in IssueCode]: IssueKind & {
    readonly code: Code;
    /** The number of subjects; 1 if the issue concerns the service. */
    readonly count: number;
    /** Whether counting stopped at `count`. */
    readonly isMore: boolean;
    readonly evidence: Code extends keyof Evidence
      ? Evidence[Code]
      : Readonly<Record<never, never>>;
  };
}[IssueCode];

/** The state from which the issues follow. */
export type SyncState = {
  readonly health: Health;
  readonly counts: IssueCounts;
  /** The last run of catch-up; `null`: none, or unknown. */
  readonly catchUp: {
    readonly startedAtMs: number | null;
    readonly endedAtMs: number | null;
  } | null;
  /** The access policies of the instances that are running, each once. */
  readonly policies: readonly string[];
  /** The origins of the last events, the newest first. */
  readonly origins: readonly EventOrigin[];
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** `null`: not tried. */
  readonly areWritesCommitted: boolean | null;
  readonly compared: Compared;
  readonly failedJobs: readonly FailedJob[];
  readonly consumers: readonly ConsumerProgress[];
  /** `null`: no delivery was refused lately. */
  readonly refusals: Refusals | null;
  /** `null`: most session cookies have a signature of `AUTH_SECRET`, or there were none. */
  readonly refusedSessions: Refusals | null;
};

/** Older events of the other mode can be from before the key was changed. */
const WRONG_MODE_MS = 60 * 60_000;

/** An event often arrives before its team is linked, so it can be parked for this long. */
const PARKED_LONG_MS = 10 * 60_000;

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * 60 * 60_000;

/** Catching up on 30 days of events takes a fraction of this. */
const CATCH_UP_LONG_MS = 60 * 60_000;

/** A browser also sends the cookie of another app on the same host. */
const LEAST_SESSIONS = 5;

/** A consumer that is behind for so long is probably not used any more. */
const CONSUMER_LATE_MS = 24 * 60 * 60_000;

/** Derives everything that is wrong from the state, the most severe first. Pure. */
export function issuesOf(state: SyncState, nowMs: number): Issue[] {
  const found = [...serviceIssues(state, nowMs), ...subjectIssues(state, nowMs)];
  const codes = Object.keys(ISSUES);
  const orderOf = ({ code }: Issue) => codes.indexOf(code);
  return found.sort((one, other) => bySeverity(one, other) || orderOf(one) - orderOf(other));
}

const ONE = { count: 1, isMore: false } as const;

function* serviceIssues(state: SyncState, nowMs: number): Generator<Issue> {
  const { health, areWritesCommitted, catchUp, policies } = state;
  if (areWritesCommitted === false) {
    const code = 'writes-not-committed';
    yield { code, ...ISSUES[code], ...ONE, evidence: {} };
  }
  if (state.refusals !== null) {
    const code = 'deliveries-refused';
    yield { code, ...ISSUES[code], ...ONE, evidence: state.refusals };
  }
  if (state.refusedSessions !== null) {
    const code = 'sessions-refused';
    const { severity, ...kind } = ISSUES[code];
    const evidence = state.refusedSessions;
    // Anyone can send forged ones.
    const areAll = evidence.accepted === 0 && evidence.refused >= LEAST_SESSIONS;
    yield { code, ...kind, ...ONE, severity: areAll ? severity : 'warning', evidence };
  }
  const { undeliveredSinceMs, unresolvedProducts, namelessProducts: products } = health;
  if (undeliveredSinceMs !== null && nowMs - undeliveredSinceMs > UNDELIVERED_LONG_MS) {
    const code = 'nothing-delivered';
    yield { code, ...ISSUES[code], ...ONE, evidence: { sinceMs: undeliveredSinceMs } };
  }
  yield* originIssues(state, nowMs);
  if (unresolvedProducts > 0) {
    const code = 'products-without-name';
    yield { code, ...ISSUES[code], ...ONE, evidence: { products } };
  }
  const startedAtMs = catchUp?.startedAtMs ?? null;
  const isRunning = catchUp?.endedAtMs === null;
  if (isRunning && startedAtMs !== null && nowMs - startedAtMs > CATCH_UP_LONG_MS) {
    const code = 'catch-up-too-long';
    yield { code, ...ISSUES[code], ...ONE, evidence: { sinceMs: startedAtMs } };
  }
  if (policies.length > 1) {
    const code = 'different-policies';
    yield { code, ...ISSUES[code], ...ONE, evidence: { policies } };
  }
  const { failedJobs: jobs } = state;
  if (jobs.length > 0) {
    const code = 'job-failed';
    yield { code, ...ISSUES[code], count: jobs.length, isMore: false, evidence: { jobs } };
  }
  const withSetAside = state.consumers.filter(({ setAside }) => setAside > 0);
  if (withSetAside.length > 0) {
    const code = 'changes-set-aside';
    const count = withSetAside.reduce((sum, { setAside }) => sum + setAside, 0);
    const evidence = { consumers: withSetAside };
    yield { code, ...ISSUES[code], count, isMore: false, evidence };
  }
  const late = state.consumers.filter(
    ({ behindSinceMs }) => behindSinceMs !== null && nowMs - behindSinceMs > CONSUMER_LATE_MS,
  );
  if (late.length > 0) {
    const code = 'consumer-behind';
    const evidence = { consumers: late };
    yield { code, ...ISSUES[code], count: late.length, isMore: false, evidence };
  }
  yield* comparisonIssues(state.compared, nowMs);
}

/** Teams are compared daily unless configured otherwise. */
const INTERVAL_MS = 24 * 60 * 60_000;

/** A comparison waits for the lease, and for the answers of Stripe. */
const SLACK_MS = 10 * 60_000;

function* comparisonIssues(compared: Compared, nowMs: number): Generator<Issue> {
  const { completed, intervalMs, teams, isFollowing } = compared;
  // The whole interval counts from the start, and the next comparison can take as long as the last one.
  const tookMs = completed === null ? 0 : completed.endedAtMs - completed.startedAtMs;
  const dueAtMs = completed === null ? null : completed.startedAtMs + (intervalMs ?? INTERVAL_MS);
  const nextAtMs = intervalMs === null ? null : dueAtMs;
  if (teams !== null && teams.uncompared > 0) {
    const code = 'teams-not-compared';
    const { severity, ...kind } = ISSUES[code];
    const isSoonOver = completed !== null && isFollowing;
    const evidence = { ...teams, nextAtMs };
    yield { code, ...kind, ...ONE, severity: isSoonOver ? 'notice' : severity, evidence };
  }
  const hasTeams = teams !== null && teams.linked > 0;
  if (
    completed !== null &&
    dueAtMs !== null &&
    hasTeams &&
    nowMs > dueAtMs + 2 * tookMs + SLACK_MS
  ) {
    const code = 'comparison-overdue';
    const { endedAtMs } = completed;
    yield { code, ...ISSUES[code], ...ONE, evidence: { endedAtMs, nextAtMs } };
  }
}

/**
 * `in-sync`: every team was compared with Stripe, recently enough, and Stripe delivers events. `unproven`: nothing is
 * known to be wrong.
 */
export type Verdict = 'in-sync' | 'unproven' | 'warning' | 'failure';

/** What the issues and the evidence amount to. Unknown is never in sync. Pure. */
export function verdictOf(
  issues: readonly Issue[],
  { compared: { completed, teams }, health }: Pick<SyncState, 'compared' | 'health'>,
): Verdict {
  const severities = new Set(issues.map(({ severity }) => severity));
  if (severities.has('failure')) return 'failure';
  if (severities.has('warning')) return 'warning';
  const isCompared =
    completed !== null && teams !== null && teams.linked > 0 && teams.uncompared === 0;
  return isCompared && health.lastDeliveredMs !== null ? 'in-sync' : 'unproven';
}

/** Reports events that possibly belong elsewhere. They are applied, because their signature is valid. */
function* originIssues({ origins, keyMode, health }: SyncState, nowMs: number): Generator<Issue> {
  const of = origins.length;
  const inMode = (mode: Mode) => origins.filter((origin) => origin.mode === mode).length;
  const [live, test] = [inMode('live'), inMode('test')];
  const mode: Mode = keyMode === 'live' ? 'test' : 'live';
  const events = mode === 'live' ? live : test;
  const evidence = { events, of, mode, keyMode };
  if (live > 0 && test > 0) {
    const code = 'events-in-both-modes';
    yield { code, ...ISSUES[code], ...ONE, evidence };
  } else if (keyMode !== null && events > 0) {
    const code = 'events-in-other-mode';
    const { severity, ...kind } = ISSUES[code];
    const isNew = nowMs - (health.lastDeliveredMs ?? 0) < WRONG_MODE_MS;
    yield { code, ...kind, severity: isNew ? severity : 'warning', ...ONE, evidence };
  }
  const others = origins.filter((origin) => mismatchOf(origin, keyMode) === 'account');
  if (others.length === 0) return;
  const code = 'events-of-other-accounts';
  const accounts = [...new Set(others.flatMap(({ account }) => account ?? []))];
  yield { code, ...ISSUES[code], ...ONE, evidence: { events: others.length, of, accounts } };
}

function* subjectIssues({ health, counts }: SyncState, nowMs: number): Generator<Issue> {
  const { parkedEvents: events, parkedSinceMs: sinceMs } = health;
  const parked = counts['parked-events'];
  if (parked.count > 0) {
    const code = 'parked-events';
    const isYoung = sinceMs !== null && nowMs - sinceMs < PARKED_LONG_MS;
    const { severity, ...kind } = ISSUES[code];
    const evidence = { events, sinceMs };
    yield { code, ...kind, severity: isYoung ? 'notice' : severity, ...parked, evidence };
  }
  const { charged, ...second } = counts['second-customer'];
  if (second.count > 0) {
    const code = 'second-customer';
    yield { code, ...ISSUES[code], ...second, evidence: { charged } };
  }
  for (const code of SUBJECT_ISSUES) {
    if (code === 'parked-events' || code === 'second-customer') continue;
    if (counts[code].count > 0) yield { code, ...ISSUES[code], ...counts[code], evidence: {} };
  }
}

const isOfSubject = (code: string): code is SubjectIssueCode =>
  ISSUES[code as IssueCode].concerns !== 'service';

const SEVERITIES: readonly Severity[] = ['failure', 'warning', 'notice'];

type Judged = { readonly severity: Severity };

/** Sorts the most severe first. */
export const bySeverity = (one: Judged, other: Judged) =>
  SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity);

/** The issues of single teams, customers, subscriptions and events, the most severe first. */
export const SUBJECT_ISSUES: readonly SubjectIssueCode[] = Object.keys(ISSUES)
  .filter(isOfSubject)
  .sort((one, other) => bySeverity(ISSUES[one], ISSUES[other]));

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
