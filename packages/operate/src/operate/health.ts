// Reads everything from which follows whether all is in sync, and lets issues/ derive what is wrong. The console's
// overview calls it, the doctor, the metrics and the alerts.

import type { Database } from 'instep-engine/postgres';
import { countIssues } from '../issues/find-issues.ts';
import { type Issue, issuesOf } from '../issues/issues.ts';
import { readServiceState, type ServiceState } from '../issues/service-state.ts';
import type { OperateContext } from './context.ts';

/** What of a context the health needs. */
export type HealthContext = Pick<OperateContext, 'keyMode' | 'now' | 'otherFeatures'> & {
  readonly database: Pick<Database, 'query' | 'transaction'>;
};

/** The state of everything that Instep keeps in sync. */
export type HealthReport = ServiceState & {
  /** What the issues and the evidence amount to. */
  readonly verdict: Verdict;
  /** What needs attention, the most pressing first. None is no proof: see `verdict`. */
  readonly issues: readonly Issue[];
  /** The issues that operators have dismissed. */
  readonly hidden: number;
};

/**
 * `in-sync`: every team was compared with Stripe, recently enough, and Stripe delivers events. `unproven`: nothing is
 * known to be wrong.
 */
export type Verdict = 'in-sync' | 'unproven' | 'warning' | 'failure';

/**
 * Checks everything that Instep keeps in sync. It takes a few milliseconds.
 *
 * @example
 * ```ts
 * const { issues, reconciled } = await checkHealth(context);
 * console.log(issues.length, reconciled); // 0 null
 * ```
 */
export async function checkHealth(context: HealthContext): Promise<HealthReport> {
  const { database, keyMode, otherFeatures, now } = context;
  const [state, counts] = await Promise.all([
    readServiceState(database, keyMode, otherFeatures),
    countIssues({ database }),
  ]);
  const issues = issuesOf(state, counts, now());
  const hidden = Object.values(counts).reduce((sum, { hidden }) => sum + hidden, 0);
  return { ...state, verdict: verdictOf(issues, state), issues, hidden };
}

/** What the issues and the evidence amount to. Unknown is never in sync. */
function verdictOf(issues: readonly Issue[], state: ServiceState): Verdict {
  const { lastDeliveredMs, teams, reconciled } = state;
  const severities = new Set(issues.map(({ severity }) => severity));
  if (severities.has('failure')) return 'failure';
  if (severities.has('warning')) return 'warning';
  const isCompared =
    reconciled?.completed && teams !== null && teams.linked > 0 && teams.uncompared === 0;
  return isCompared && lastDeliveredMs !== null ? 'in-sync' : 'unproven';
}
