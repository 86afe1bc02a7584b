import { issueText } from '../health/issue-text.ts';
import type { Issue, IssueCode } from '../health/issues.ts';
import { type HealthReport, reportHealth } from '../operate/health.ts';
import type { Query } from '../postgres/database.ts';
import { durationOf } from '../runtime/amounts.ts';
import type { Mode } from '../stripe/key-kind.ts';
import { type Check, ok, warning } from './check.ts';

export type EventLogOptions = {
  readonly query: Query;
  /** The mode of the API key; `null` when unknown. */
  readonly keyMode: Mode | null;
  /** The key of metadata that names a team; `teamId` by default. */
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
  const names = new Set(Object.values(CHECKS).map(({ name }) => name));
  names.delete(LAST_EVENT);
  return [checkLastEvent(report, options), ...[...names].flatMap(checksNamed)];

  function checksNamed(name: string): Check[] {
    const found = report.issues.filter(({ code }) => CHECKS[code].name === name);
    if (found.length > 0) return found.map((issue) => checkOf(issue, nowMs));
    const result = FINE[name]?.(report) ?? null;
    return result === null ? [] : [ok(name, result)];
  }
}

function checkOf(issue: Issue, nowMs: number): Check {
  const { severity, code } = issue;
  const { name, advice } = CHECKS[code];
  const common = { name, code, result: issueText(issue, nowMs) };
  if (severity === 'notice') return { ...common, state: 'ok', advice: null };
  return { ...common, state: severity, advice };
}

const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and see the lines about the API';
const REPAIR = 'compare and repair them: `instep reconcile`';

const LAST_EVENT = 'last event';
const EVENT_MODE = 'event mode';
const TEAMS = 'teams';

/** The check that reports each issue, in the order in which they are shown. */
const CHECKS: Readonly<Record<IssueCode, { name: string; advice: string }>> = {
  'writes-not-committed': {
    name: 'writes',
    advice: 'check the disk, and that a standby of synchronous_standby_names is connected',
  },
  'deliveries-refused': {
    name: 'signatures',
    advice:
      "set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (Stripe dashboard, Developers, Webhooks; `stripe listen` prints its own), and restart",
  },
  'sessions-refused': {
    name: 'session cookies',
    advice:
      'set AUTH_SECRET to the secret that your app signs its sessions with, and restart; while you replace it, to both: AUTH_SECRET=new,old',
  },
  'events-in-other-mode': {
    name: EVENT_MODE,
    advice: 'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode',
  },
  'events-in-both-modes': {
    name: EVENT_MODE,
    advice: 'run a separate Instep, with its own database, for each mode',
  },
  'events-of-other-accounts': {
    name: 'event account',
    advice:
      'register the endpoint only for events of your own account, unless your teams have customers in the others',
  },
  'parked-events': {
    name: 'parked events',
    advice:
      'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
  },
  'second-customer': {
    name: 'parked events',
    advice:
      'list them: `instep events list --outcome parked`; replace the other customer: `instep team link ID --customer CUS`, or dismiss the events in the console',
  },
  'unreadable-event': {
    name: 'unreadable events',
    advice:
      'upgrade Instep and replay them: `instep events replay --outcome unreadable`; if that does not help, report the reason from the log lines `event unreadable`',
  },
  'nothing-delivered': {
    name: LAST_EVENT,
    advice: 'see the lines about the webhook endpoint, and check its secret',
  },
  'unknown-order': { name: 'event order', advice: SERVER_ASKS },
  'products-without-name': { name: 'product names', advice: SERVER_ASKS },
  'catch-up-too-long': { name: 'catch-up', advice: SERVER_ASKS },
  'different-policies': { name: 'policies', advice: 'set the same variables for all instances' },
  'job-failed': { name: 'jobs', advice: 'read the reason in the server log' },
  'changes-set-aside': {
    name: 'consumers',
    advice:
      'see why: `instep changes --list`, and pass them on again: `instep changes --consumer NAME --replay ID`',
  },
  'consumer-behind': {
    name: 'consumers',
    advice: 'run it, or forget it: `instep changes --consumer NAME --remove`',
  },
  'teams-not-compared': { name: TEAMS, advice: REPAIR },
  'comparison-overdue': { name: TEAMS, advice: REPAIR },
  'out-of-sync': { name: TEAMS, advice: REPAIR },
  'changed-by-hand': { name: TEAMS, advice: REPAIR },
  'plan-refused': {
    name: TEAMS,
    advice: 'read the reason in the server log, then repair them: `instep reconcile`',
  },
  'customer-without-team': {
    name: TEAMS,
    advice: 'link each to its team: `instep team link ID --customer CUS`',
  },
  'unknown-customer': {
    name: TEAMS,
    advice:
      'link the right customer to each: `instep team link ID --customer CUS`; if Stripe knows none of them, check the account and the mode of the API key',
  },
  'payment-due': {
    name: 'payments',
    advice:
      'cancel the subscriptions or mark them unpaid at Stripe (Settings, Billing, Subscriptions), or set PAST_DUE_GRACE and ask instep.team_access',
  },
  'double-billed': {
    name: 'payments',
    advice:
      'cancel the subscription that is not wanted at Stripe, or dismiss the issue in the console with a note',
  },
  'other-team-named': {
    name: 'payments',
    advice:
      'correct the metadata of the subscription at Stripe, or cancel the one that is not wanted; dismiss the issue in the console if both are right',
  },
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
