// Reads everything from which follows whether all is in sync, and lets issues/ derive what is wrong. The console's
// overview calls it, the doctor, and the metrics.

import type { Database } from 'instep-engine/postgres';
import type { Progress } from 'instep-engine/repair';
import { countIssues } from '../issues/find-issues.ts';
import { type Issue, issuesOf } from '../issues/issues.ts';
import {
  type Figures,
  type OtherFeatures,
  readServiceState,
  type ServiceState,
} from '../issues/service-state.ts';
import type { TeamCounts } from '../issues/team-counts.ts';
import type { OperateContext } from './context.ts';

/** The state of everything that Instep keeps in sync. Times are in milliseconds since 1970. */
export type HealthReport = {
  /** What the issues and the evidence amount to. */
  readonly verdict: Verdict;
  /** What needs attention, the most pressing first. None is no proof: see `verdict`. */
  readonly issues: readonly Issue[];
  /** The issues that operators have dismissed. */
  readonly hidden: number;
  /** `null`: there are too many teams to count them. */
  readonly teams: TeamCounts | null;
  readonly figures: Figures;
  /** The last comparison of all teams with Stripe, finished or not; `null`: there was none. */
  readonly reconciled: Progress | null;
};

/**
 * Checks everything that Instep keeps in sync. It takes a few milliseconds.
 *
 * @example
 * ```ts
 * const { issues, reconciled } = await checkHealth(context);
 * console.log(issues.length, reconciled); // 0 null
 * ```
 */
export async function checkHealth({
  database,
  keyMode,
  otherFeatures,
  now,
}: HealthContext): Promise<HealthReport> {
  const [state, counts] = await Promise.all([
    readServiceState(database, keyMode, otherFeatures),
    countIssues({ database }),
  ]);
  const issues = issuesOf(state, counts, now());
  const hidden = Object.values(counts).reduce((sum, { hidden }) => sum + hidden, 0);
  const { figures, teams, reconciled } = state;
  return { verdict: verdictOf(issues, state), issues, hidden, teams, figures, reconciled };
}

/** What of a context the health needs. */
export type HealthContext = Pick<OperateContext, 'keyMode' | 'now'> & {
  readonly database: Pick<Database, 'query' | 'transaction'>;
  readonly otherFeatures: OtherFeatures;
};

/**
 * `in-sync`: every team was compared with Stripe, recently enough, and Stripe delivers events. `unproven`: nothing is
 * known to be wrong.
 */
export type Verdict = 'in-sync' | 'unproven' | 'warning' | 'failure';

/** What the issues and the evidence amount to. Unknown is never in sync. */
function verdictOf(issues: readonly Issue[], state: ServiceState): Verdict {
  const { figures, teams, reconciled } = state;
  const severities = new Set(issues.map(({ severity }) => severity));
  if (severities.has('failure')) return 'failure';
  if (severities.has('warning')) return 'warning';
  const isCompared =
    reconciled?.completed && teams !== null && teams.linked > 0 && teams.uncompared === 0;
  return isCompared && figures.lastDeliveredMs !== null ? 'in-sync' : 'unproven';
}
