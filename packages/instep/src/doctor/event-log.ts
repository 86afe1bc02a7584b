import { issueText } from '../health/issue-text.ts';
import type { Issue, IssueCode } from '../health/issues.ts';
import { type HealthReport, reportHealth } from '../operate/health.ts';
import type { Query } from '../postgres/database.ts';
import { durationOf } from '../runtime/duration.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { type Check, ok, warning } from './check.ts';

export type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when unknown. */
  readonly keyMode: Mode | null;
  /** When Stripe created the newest event, in seconds since 1970; `null` when unknown. */
  readonly newestEventSeconds: number | null;
  readonly nowMs: number;
};

/** What is out of sync, and whether events arrive. */
export async function checkEventLog(options: EventLogOptions): Promise<Check[]> {
  const { query, keyMode, nowMs } = options;
  const report = await reportHealth(query, { keyMode, nowMs, areWritesCommitted: null });
  return [
    checkLastEvent(report, options),
    ...AREAS.flatMap(({ name, codes, fine }): Check[] => {
      const found = report.issues.filter(({ code }) => codes.includes(code));
      if (found.length > 0) return found.map((issue) => checkOf(name, issue, nowMs));
      const finding = fine?.(report) ?? null;
      return finding === null ? [] : [ok(name, finding)];
    }),
  ];
}

type Area = {
  readonly name: string;
  readonly codes: readonly IssueCode[];
  /** What is shown if there is no issue; nothing by default. */
  readonly fine?: (report: HealthReport) => string | null;
};

const AREAS: readonly Area[] = [
  {
    name: 'event mode',
    codes: ['events-in-other-mode', 'events-in-both-modes'],
    fine: ({ eventMode }) => eventMode,
  },
  { name: 'event account', codes: ['events-of-other-accounts'] },
  { name: 'parked events', codes: ['parked-events'], fine: () => 'none' },
  { name: 'unreadable events', codes: ['unreadable-event'] },
  { name: 'event order', codes: ['unknown-order'], fine: () => 'known' },
  { name: 'product names', codes: ['products-without-name'], fine: () => 'complete' },
  { name: 'catch-up', codes: ['catch-up-too-long'] },
  {
    name: 'teams',
    codes: [
      'out-of-sync',
      'changed-by-hand',
      'plan-refused',
      'customer-without-team',
      'unknown-customer',
    ],
  },
];

function checkOf(name: string, issue: Issue, nowMs: number): Check {
  const { severity } = issue;
  const finding = issueText(issue, nowMs);
  const common = { name, code: issue.code, finding };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice: ADVICE[issue.code] };
}

const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and see the lines about the API';
const REPAIR = 'compare and repair them: `instep reconcile`';

const ADVICE: Readonly<Record<IssueCode, string>> = {
  'writes-not-committed':
    'check the disk, and that a standby of synchronous_standby_names is connected',
  'parked-events':
    'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
  'unreadable-event':
    'upgrade Instep and replay them: `instep events replay --outcome unreadable`; if that does not help, report the reason from the log lines `event unreadable`',
  'nothing-delivered': 'see the lines about the webhook endpoint, and check its secret',
  'events-in-other-mode': 'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode',
  'events-in-both-modes': 'run a separate Instep, with its own database, for each mode',
  'events-of-other-accounts':
    'register the endpoint only for events of your own account, unless your teams have customers in the others',
  'unknown-order': SERVER_ASKS,
  'products-without-name': SERVER_ASKS,
  'catch-up-too-long': SERVER_ASKS,
  'out-of-sync': REPAIR,
  'changed-by-hand': REPAIR,
  'plan-refused': 'read the reason in the server log, then repair them: `instep reconcile`',
  'customer-without-team': 'link each to its team: `instep team link ID --customer CUS`',
  'unknown-customer':
    'link the right customer to each: `instep team link ID --customer CUS`; if Stripe knows none of them, check the account and the mode of the API key',
};

/** A younger event can still be in transit. */
const IN_TRANSIT_MS = 10 * 60_000;

function checkLastEvent(
  { issues, figures }: HealthReport,
  { newestEventSeconds, nowMs }: EventLogOptions,
): Check {
  const name = 'last event';
  const undelivered = issues.find(({ code }) => code === 'nothing-delivered');
  if (undelivered !== undefined) return checkOf(name, undelivered, nowMs);
  const { lastDeliveredMs, newestCreatedSeconds } = figures;
  const ago = (ms: number) => `${durationOf(nowMs - ms)} ago`;
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
