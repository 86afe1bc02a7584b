import { ADVICE, issueText } from '../health/issue-text.ts';
import type { Issue, IssueCode } from '../health/issues.ts';
import { type HealthReport, reportHealth } from '../operate/health.ts';
import type { Query } from '../postgres/database.ts';
import { durationText } from '../runtime/amounts.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { type Check, ok, warning } from './check.ts';

export type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when unknown. */
  readonly keyMode: Mode | null;
  readonly linkByMetadata?: string | null;
  /** When Stripe created the newest event, in seconds since 1970; `null` when unknown. */
  readonly newestEventSeconds: number | null;
  readonly nowMs: number;
};

/** What is out of sync, and whether events arrive. */
export async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode, linkByMetadata, nowMs } = options;
  const known = { keyMode, linkByMetadata, nowMs, areWritesCommitted: null };
  const report = await reportHealth(query, known);
  const names = new Set(Object.values(CHECKS));
  names.delete(LAST_EVENT);
  return [checkLastEvent(report, options), ...[...names].flatMap(checksNamed)];

  function checksNamed(name: string): Check[] {
    const found = report.issues.filter(({ code }) => CHECKS[code] === name);
    if (found.length > 0) return found.map((issue) => checkOf(issue, nowMs));
    const result = FINE[name]?.(report) ?? null;
    return result === null ? [] : [ok(name, result)];
  }
}

function checkOf(issue: Issue, nowMs: number): Check {
  const { severity, code } = issue;
  const common = { name: CHECKS[code], code, result: issueText(issue, nowMs) };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice: ADVICE[code] };
}

const LAST_EVENT = 'last event';
const EVENT_MODE = 'event mode';
const TEAMS = 'teams';

/** The name of the check that reports each issue, in the order in which they are shown. */
const CHECKS: Readonly<Record<IssueCode, string>> = {
  'writes-not-committed': 'writes',
  'deliveries-refused': 'signatures',
  'sessions-refused': 'session cookies',
  'events-in-other-mode': EVENT_MODE,
  'events-in-both-modes': EVENT_MODE,
  'events-of-other-accounts': 'event account',
  'parked-events': 'parked events',
  'second-customer': 'parked events',
  'unreadable-event': 'unreadable events',
  'nothing-delivered': LAST_EVENT,
  'unknown-order': 'event order',
  'products-without-name': 'product names',
  'catch-up-too-long': 'catch-up',
  'different-policies': 'policies',
  'job-failed': 'jobs',
  'changes-set-aside': 'consumers',
  'consumer-behind': 'consumers',
  'teams-not-compared': TEAMS,
  'comparison-overdue': TEAMS,
  'out-of-sync': TEAMS,
  'changed-by-hand': TEAMS,
  'plan-refused': TEAMS,
  'customer-without-team': TEAMS,
  'unknown-customer': TEAMS,
  'payment-due': 'payments',
  'double-billed': 'payments',
  'other-team-named': 'payments',
};

/** What a check shows if it finds no issue; nothing by default. */
const FINE: Readonly<Record<string, (report: HealthReport) => string | null>> = {
  [EVENT_MODE]: ({ eventMode }) => eventMode,
  'parked events': () => 'none',
  'event order': () => 'known',
  'product names': () => 'complete',
};

/** A younger event can still be in transit. */
const IN_TRANSIT_MS = 10 * 60_000;

function checkLastEvent(
  { issues, figures }: HealthReport,
  { newestEventSeconds, nowMs }: EventLogOptions,
): Check {
  const name = LAST_EVENT;
  const undelivered = issues.find(({ code }) => code === 'nothing-delivered');
  if (undelivered !== undefined) return checkOf(undelivered, nowMs);
  const { lastDeliveredMs, newestCreatedSeconds } = figures;
  const ago = (ms: number) => `${durationText(nowMs - ms)} ago`;
  const last = lastDeliveredMs === null ? 'none was ever delivered' : ago(lastDeliveredMs);
  const newestMs = (newestEventSeconds ?? 0) * 1_000;
  const isKnown = newestMs <= (newestCreatedSeconds ?? 0) * 1_000;
  if (!isKnown && nowMs - newestMs > IN_TRANSIT_MS) {
    return warning(
      name,
      `${last}; an event that Stripe created ${ago(newestMs)} is not in the log`,
      'see the lines about the webhook endpoint, and check that the server is running',
    );
  }
  if (lastDeliveredMs !== null) return ok(name, last);
  return warning(name, last, 'change a subscription in the same mode, so that Stripe sends one');
}
