import { ADVICE, issueText } from '../health/issue-text.ts';
import type { Issue } from '../health/issues.ts';
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

/** Whether events arrive, and what is out of sync: all issues, each by its code. */
export async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode, linkByMetadata, nowMs } = options;
  const known = { keyMode, linkByMetadata, nowMs, areWritesCommitted: null };
  const report = await reportHealth(query, known);
  const { issues, eventMode } = report;
  return [
    checkLastEvent(report, options),
    ...(eventMode === null ? [] : [ok('event mode', eventMode)]),
    ...issues.map((issue) => checkOf(issue, nowMs)),
    ...(issues.length > 0 ? [] : [ok('event log', 'no issues')]),
  ];
}

function checkOf(issue: Issue, nowMs: number): Check {
  const { severity, code } = issue;
  const common = { name: code.replaceAll('-', ' '), code, result: issueText(issue, nowMs) };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice: ADVICE[code] };
}

/** A younger event can still be in transit. */
const IN_TRANSIT_MS = 10 * 60_000;

function checkLastEvent(
  { figures: { lastDeliveredMs, newestCreatedSeconds } }: HealthReport,
  { newestEventSeconds, nowMs }: EventLogOptions,
): Check {
  const name = 'last event';
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
