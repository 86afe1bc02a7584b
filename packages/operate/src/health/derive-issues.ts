// What is wrong with the service, derived from its state without I/O, and what that amounts to. operate/health.ts
// reads the state and calls it.

import type { FailedJob } from 'instep-engine/repair';
import { type EventOrigin, type Mode, mismatchOf } from 'instep-engine/stripe';
import type { Figures } from './figures.ts';
import {
  bySeverity,
  type Compared,
  type ConsumerProgress,
  ISSUES,
  type Issue,
  type IssueCounts,
  issue,
  type RefusalKind,
  type Refusals,
  SUBJECT_ISSUES,
} from './issues.ts';

/** The state from which the issues follow. */
export type SyncState = {
  readonly figures: Figures;
  readonly counts: IssueCounts;
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

/** Older events of the other mode can be from before the key was changed. */
const WRONG_MODE_MS = 60 * 60_000;

/** An event often arrives before its team is linked, so it can be parked for this long. */
const PARKED_LONG_MS = 10 * 60_000;

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * 60 * 60_000;

/** Anyone can send a few forged deliveries or cookies; a browser also sends the cookie of another app on the host. */
const FEW_REFUSED = 5;

/** A consumer that is behind for so long is probably not used any more. */
const CONSUMER_LATE_MS = 24 * 60 * 60_000;

/** Derives everything that is wrong from the state, the most severe first. Pure. */
export function issuesOf(state: SyncState, nowMs: number): Issue[] {
  const found = [...serviceIssues(state, nowMs), ...subjectIssues(state, nowMs)];
  const codes = Object.keys(ISSUES);
  const orderOf = ({ code }: Issue) => codes.indexOf(code);
  return found.sort((a, b) => bySeverity(a, b) || orderOf(a) - orderOf(b));
}

function* serviceIssues(state: SyncState, nowMs: number): Generator<Issue> {
  const { figures, otherPolicy, refusals, failedJobs: jobs } = state;
  const isLongSince = (ms: number | null, longMs: number) => ms !== null && nowMs - ms > longMs;
  if (figures.isStandbyMissing) yield issue('writes-not-committed', {});
  const severityOf = ({ refused }: Refusals) =>
    refused < FEW_REFUSED ? ({ severity: 'warning' } as const) : {};
  const { lastDeliveredMs } = figures;
  const deliveries = refusals.get('deliveries');
  if (deliveries !== undefined && (lastDeliveredMs ?? 0) < deliveries.sinceMs) {
    const severity = lastDeliveredMs === null ? {} : severityOf(deliveries);
    yield issue('deliveries-refused', deliveries, severity);
  }
  const sessions = refusals.get('sessions');
  if (sessions !== undefined) yield issue('sessions-refused', sessions, severityOf(sessions));
  const { undeliveredSinceMs, unresolvedProducts, namelessProducts: products } = figures;
  if (undeliveredSinceMs !== null && isLongSince(undeliveredSinceMs, UNDELIVERED_LONG_MS)) {
    yield issue('nothing-delivered', { sinceMs: undeliveredSinceMs });
  }
  yield* originIssues(state, nowMs);
  if (unresolvedProducts > 0) yield issue('products-without-name', { products });
  if (otherPolicy !== null) yield issue('different-policies', { otherPolicy });
  if (jobs.length > 0) yield issue('job-failed', { jobs }, { count: jobs.length });
  const failing = state.consumers.filter(({ setAside }) => setAside > 0);
  if (failing.length > 0) {
    const count = failing.reduce((sum, { setAside }) => sum + setAside, 0);
    yield issue('changes-set-aside', { consumers: failing }, { count });
  }
  const late = state.consumers.filter((one) => isLongSince(one.behindSinceMs, CONSUMER_LATE_MS));
  if (late.length > 0) yield issue('consumer-behind', { consumers: late }, { count: late.length });
  yield* comparisonIssues(state.compared, nowMs);
}

/** Teams are compared daily unless configured otherwise. */
const INTERVAL_MS = 24 * 60 * 60_000;

/** A comparison waits for the lease, and for the answers of Stripe. */
const SLACK_MS = 10 * 60_000;

function* comparisonIssues(compared: Compared, nowMs: number): Generator<Issue> {
  const { completed, intervalMs, teams, isFollowing } = compared;
  const dueAtMs = completed === null ? null : completed.startedAtMs + (intervalMs ?? INTERVAL_MS);
  const nextAtMs = intervalMs === null ? null : dueAtMs;
  if (teams !== null && teams.uncompared > 0) {
    const isSoonOver = completed !== null && isFollowing;
    const { linked, uncompared } = teams;
    const evidence = { linked, uncompared, nextAtMs };
    yield issue('teams-not-compared', evidence, isSoonOver ? { severity: 'notice' } : {});
  }
  if (completed === null || dueAtMs === null || teams?.linked === 0) return;
  // The whole interval counts from the start, and the next comparison can take as long as the last one.
  const tookMs = completed.endedAtMs - completed.startedAtMs;
  if (nowMs > dueAtMs + 2 * tookMs + SLACK_MS) {
    yield issue('comparison-overdue', { endedAtMs: completed.endedAtMs, nextAtMs });
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
  { compared: { completed, teams }, figures }: Pick<SyncState, 'compared' | 'figures'>,
): Verdict {
  const severities = new Set(issues.map(({ severity }) => severity));
  if (severities.has('failure')) return 'failure';
  if (severities.has('warning')) return 'warning';
  const isCompared =
    completed !== null && teams !== null && teams.linked > 0 && teams.uncompared === 0;
  return isCompared && figures.lastDeliveredMs !== null ? 'in-sync' : 'unproven';
}

/** Reports events that possibly belong elsewhere. They are applied, because their signature is valid. */
function* originIssues({ origins, keyMode, figures }: SyncState, nowMs: number): Generator<Issue> {
  const of = origins.length;
  const inMode = (mode: Mode) => origins.filter((origin) => origin.mode === mode).length;
  const [live, test] = [inMode('live'), inMode('test')];
  const mode: Mode = keyMode === 'live' ? 'test' : 'live';
  const events = mode === 'live' ? live : test;
  const evidence = { events, of, mode, keyMode };
  if (live > 0 && test > 0) yield issue('events-in-both-modes', evidence);
  else if (keyMode !== null && events > 0) {
    const isNew = nowMs - (figures.lastDeliveredMs ?? 0) < WRONG_MODE_MS;
    yield issue('events-in-other-mode', evidence, isNew ? {} : { severity: 'warning' });
  }
  const foreign = origins.filter((origin) => mismatchOf(origin, keyMode) === 'account');
  if (foreign.length === 0) return;
  const accounts = [...new Set(foreign.flatMap(({ account }) => account ?? []))];
  yield issue('events-of-other-accounts', { events: foreign.length, of, accounts });
}

function* subjectIssues({ figures, counts }: SyncState, nowMs: number): Generator<Issue> {
  const { parkedEvents: events, parkedSinceMs: sinceMs } = figures;
  for (const code of SUBJECT_ISSUES) {
    const counted = counts[code];
    if (counted.count === 0) continue;
    if (code === 'parked-events') {
      const isYoung = sinceMs !== null && nowMs - sinceMs < PARKED_LONG_MS;
      const severity = isYoung ? ({ severity: 'notice' } as const) : {};
      yield issue(code, { events, sinceMs }, { ...severity, ...counted });
    } else yield issue(code, {}, counted);
  }
}
