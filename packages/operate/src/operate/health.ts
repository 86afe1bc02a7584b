// Reads everything from which follows whether all is in sync, and lets issues/ derive what is wrong. The console's
// overview calls it, the doctor, the metrics and the alerts.

import type { Database } from 'instep-engine/postgres';
import { counted, countText, durationText } from 'instep-engine/runtime';
import { countIssues } from '../issues/find-issues.ts';
import type { Severity } from '../issues/issue.ts';
import { ISSUES, type Issue, type IssueCounts, SUBJECT_ISSUES } from '../issues/issues.ts';
import { SERVICE_ISSUES } from '../issues/service-issues.ts';
import { readServiceState, type ServiceState } from '../issues/service-state.ts';
import type { SubjectIssue } from '../issues/subject-issues.ts';
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

const SERVICE_CODES = Object.keys(SERVICE_ISSUES) as readonly (keyof typeof SERVICE_ISSUES)[];
const SEVERITIES: readonly Severity[] = ['failure', 'warning', 'notice'];

/** All that is wrong, the most severe first. */
function issuesOf(state: ServiceState, counts: IssueCounts, nowMs: number): Issue[] {
  const ofService = SERVICE_CODES.flatMap((code): Issue[] => {
    const { find, ...kind } = SERVICE_ISSUES[code];
    const found = find(state, nowMs);
    if (found === null) return [];
    const one = { concerns: 'service', remedies: [], count: 1, isMore: false } as const;
    return [{ code, ...kind, ...one, ...found }];
  });
  const ofSubjects = SUBJECT_ISSUES.flatMap((code): Issue[] => {
    const { concerns, remedies, advice, text, ...issue }: SubjectIssue = ISSUES[code];
    const { count, isMore, sinceMs } = counts[code];
    if (count === 0) return [];
    // The database's clock can be ahead.
    const ageMs = Math.max(0, nowMs - (sinceMs ?? nowMs));
    const severity = ageMs < (issue.noticeMs ?? 0) ? 'notice' : issue.severity;
    const subjects = isMore ? `${countText(count, count)} ${concerns}s` : counted(count, concerns);
    const sentence = `${subjects} ${text}, for up to ${durationText(ageMs)}`;
    return [{ code, severity, concerns, remedies, advice, count, isMore, text: sentence }];
  });
  const rank = ({ severity }: Issue) => SEVERITIES.indexOf(severity);
  return [...ofService, ...ofSubjects].sort((a, b) => rank(a) - rank(b));
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
