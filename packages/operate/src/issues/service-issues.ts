// The issues of the service: each one is found in its state, without I/O. operate/health.ts reads the state.

import { counted, countText, durationText } from 'instep-engine/runtime';
import { mismatchOf } from 'instep-engine/stripe';
import {
  type Compared,
  type Found,
  REPAIR,
  type Refusals,
  SERVER_ASKS,
  type ServiceIssue,
  type ServiceIssueCode,
  type Severity,
} from './issue.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** An issue of the service that is this severe, unless it is found otherwise. */
const serviceIssue = <Code extends ServiceIssueCode>(
  severity: Severity,
  issue: Pick<ServiceIssue<Code>, 'find' | 'text' | 'advice'>,
): ServiceIssue<Code> => ({ severity, concerns: 'service', remedies: [], ...issue });

/** `in 5 min`, or `now` when it is due. */
const dueText = (ms: number) => (ms <= 0 ? 'due now' : `in ${durationText(ms)}`);

export const WRITES_NOT_COMMITTED = serviceIssue<'writes-not-committed'>('failure', {
  find: ({ figures }) => (figures.isStandbyMissing ? { evidence: {} } : null),
  text: () =>
    'No synchronous standby is connected, so the database commits no writes: events get a 503, and Stripe sends them again',
  advice: 'connect a standby of synchronous_standby_names, or correct the names',
});

/** Anyone can send a few forged deliveries or cookies; a browser also sends the cookie of another app on the host. */
const FEW_REFUSED = 5;

const severityOf = ({ refused }: Refusals) => (refused < FEW_REFUSED ? 'warning' : undefined);

export const DELIVERIES_REFUSED = serviceIssue<'deliveries-refused'>('failure', {
  find({ refusals, figures: { lastDeliveredMs } }) {
    const evidence = refusals.get('deliveries');
    if (evidence === undefined || (lastDeliveredMs ?? 0) >= evidence.sinceMs) return null;
    return { evidence, severity: lastDeliveredMs === null ? undefined : severityOf(evidence) };
  },
  text({ evidence: { refused, sinceMs } }, nowMs) {
    const deliveries = refused === 1 ? 'delivery' : 'deliveries';
    return `${countText(refused)} ${deliveries} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret; none was accepted since`;
  },
  advice:
    "set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (Stripe dashboard, Developers, Webhooks; `stripe listen` prints its own), and restart",
});

export const SESSIONS_REFUSED = serviceIssue<'sessions-refused'>('failure', {
  find({ refusals }) {
    const evidence = refusals.get('sessions');
    return evidence === undefined ? null : { evidence, severity: severityOf(evidence) };
  },
  text: ({ evidence: { refused, sinceMs } }, nowMs) =>
    `${counted(refused, 'session cookie')} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret, so their users count as signed out`,
  advice:
    'set AUTH_SECRET to the secret that your app signs its sessions with, and restart; while you replace it, to both: AUTH_SECRET=new,old',
});

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * HOUR_MS;

export const NOTHING_DELIVERED = serviceIssue<'nothing-delivered'>('failure', {
  find({ figures: { undeliveredSinceMs: sinceMs } }, nowMs) {
    const isLong = sinceMs !== null && nowMs - sinceMs > UNDELIVERED_LONG_MS;
    return isLong ? { evidence: { sinceMs } } : null;
  },
  text: ({ evidence }, nowMs) =>
    `Stripe has delivered no event for ${durationText(nowMs - evidence.sinceMs)}; all were found by catch-up`,
  advice: 'check the webhook endpoint and its secret',
});

/** Also if the key does not show its mode, but the events are in both. */
export const EVENTS_IN_OTHER_MODE = serviceIssue<'events-in-other-mode'>('failure', {
  find(
    { origins, keyMode, figures: { lastDeliveredMs } },
    nowMs,
  ): Found<'events-in-other-mode'> | null {
    const mode = keyMode === 'live' ? 'test' : 'live';
    const events = origins.filter((origin) => origin.mode === mode).length;
    const isBoth = origins.some((origin) => origin.mode !== null && origin.mode !== mode);
    if (events === 0 || (keyMode === null && !isBoth)) return null;
    // Older ones can be from before the key was changed.
    const isOld = nowMs - (lastDeliveredMs ?? 0) >= HOUR_MS;
    const evidence = { events, of: origins.length, mode, keyMode } as const;
    return { evidence, severity: isBoth || isOld ? 'warning' : undefined };
  },
  text({ evidence: { events, of, mode, keyMode } }) {
    const key =
      keyMode === null
        ? 'others in the other one'
        : `but the API key is in ${keyMode} mode: it can't find anything that they refer to`;
    return `${countText(events)} of the last ${counted(of, 'event')} in ${mode} mode, ${key}`;
  },
  advice:
    'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode, and run a separate Instep, with its own database, for each mode',
});

/** They are applied, because their signature is valid. */
export const EVENTS_OF_OTHER_ACCOUNTS = serviceIssue<'events-of-other-accounts'>('warning', {
  find({ origins, keyMode }) {
    const foreign = origins.filter((origin) => mismatchOf(origin, keyMode) === 'account');
    const accounts = [...new Set(foreign.flatMap(({ account }) => account ?? []))];
    const evidence = { events: foreign.length, of: origins.length, accounts };
    return foreign.length === 0 ? null : { evidence };
  },
  text: ({ evidence: { events, of, accounts } }) =>
    `${countText(events)} of the last ${counted(of, 'event')} of other accounts (${accounts.join(', ')}): they were applied`,
  advice:
    'register the endpoint only for events of your own account, unless your teams have customers in the others',
});

export const PRODUCTS_WITHOUT_NAME = serviceIssue<'products-without-name'>('warning', {
  find: ({ figures: { unresolvedProducts: products } }) =>
    products === 0 ? null : { evidence: { products } },
  text: ({ evidence }) =>
    `The name of ${counted(evidence.products, 'product')} is unknown, so their plans have no name`,
  advice: SERVER_ASKS,
});

export const DIFFERENT_POLICIES = serviceIssue<'different-policies'>('warning', {
  find: ({ otherPolicy }) => (otherPolicy === null ? null : { evidence: { otherPolicy } }),
  text: ({ evidence }) =>
    `An instance is running with another access policy (${evidence.otherPolicy}) than the one that started last, which decides`,
  advice: 'set the same TEAM_PLAN, PAST_DUE_GRACE and PAUSED_ACCESS for all instances',
});

export const JOB_FAILED = serviceIssue<'job-failed'>('warning', {
  find: ({ failedJobs: jobs }) =>
    jobs.length === 0 ? null : { evidence: { jobs }, count: jobs.length },
  text: ({ evidence }, nowMs) =>
    evidence.jobs
      .map(
        ({ job, code, sinceMs, attemptAtMs }) =>
          `The job ${job} has failed for ${durationText(nowMs - sinceMs)} (${code}); the next attempt is ${dueText(attemptAtMs - nowMs)}`,
      )
      .join('. '),
  advice: 'read the reason in the server log',
});

export const CHANGES_SET_ASIDE = serviceIssue<'changes-set-aside'>('warning', {
  find(state) {
    const consumers = state.consumers.filter(({ setAside }) => setAside > 0);
    const count = consumers.reduce((sum, { setAside }) => sum + setAside, 0);
    return count === 0 ? null : { evidence: { consumers }, count };
  },
  text: ({ evidence }) =>
    evidence.consumers
      .map(
        ({ name, setAside }) =>
          `The consumer ${name} failed to handle ${counted(setAside, 'change')}`,
      )
      .join('. '),
  advice:
    'see why: `instep changes`, and pass them on again: `instep changes --consumer NAME --replay ID`',
});

/** A consumer that is behind for so long is probably not used any more. */
export const CONSUMER_BEHIND = serviceIssue<'consumer-behind'>('warning', {
  find(state, nowMs) {
    const consumers = state.consumers.filter(
      ({ behindSinceMs }) => behindSinceMs !== null && nowMs - behindSinceMs > DAY_MS,
    );
    return consumers.length === 0 ? null : { evidence: { consumers }, count: consumers.length };
  },
  text: ({ evidence }, nowMs) =>
    evidence.consumers
      .map(
        ({ name, behindSinceMs }) =>
          `The consumer ${name} is ${durationText(nowMs - (behindSinceMs ?? nowMs))} behind`,
      )
      .join('. '),
  advice: 'run it, or forget it: `instep changes --consumer NAME --remove`',
});

/** When all teams should be compared next; `null`: they never were. They are compared daily unless configured otherwise. */
const dueAtMs = ({ completed, intervalMs }: Compared) =>
  completed === null ? null : completed.startedAtMs + (intervalMs ?? DAY_MS);

/** The same, as far as it is known. */
const nextAtMs = (compared: Compared) => (compared.intervalMs === null ? null : dueAtMs(compared));

export const TEAMS_NOT_COMPARED = serviceIssue<'teams-not-compared'>('warning', {
  find({ compared }): Found<'teams-not-compared'> | null {
    const { completed, teams, isFollowing } = compared;
    if (teams === null || teams.uncompared === 0) return null;
    const { linked, uncompared } = teams;
    const evidence = { linked, uncompared, nextAtMs: nextAtMs(compared) };
    return { evidence, severity: completed !== null && isFollowing ? 'notice' : undefined };
  },
  text({ evidence: { linked, uncompared, nextAtMs } }, nowMs) {
    const next = nextAtMs === null ? '' : `; the next comparison is ${dueText(nextAtMs - nowMs)}`;
    return `${countText(uncompared)} of ${counted(linked, 'team')} not compared with Stripe yet${next}`;
  },
  advice: REPAIR,
});

/** A comparison waits for the lease, and for the answers of Stripe. */
const SLACK_MS = 10 * MINUTE_MS;

export const COMPARISON_OVERDUE = serviceIssue<'comparison-overdue'>('warning', {
  find({ compared }, nowMs) {
    const { completed, teams } = compared;
    if (completed === null || teams?.linked === 0) return null;
    const { startedAtMs, endedAtMs } = completed;
    // The whole interval counts from the start, and the next comparison can take as long as the last one.
    const latestMs = (dueAtMs(compared) ?? 0) + 2 * (endedAtMs - startedAtMs) + SLACK_MS;
    return nowMs > latestMs ? { evidence: { endedAtMs, nextAtMs: nextAtMs(compared) } } : null;
  },
  text({ evidence: { endedAtMs, nextAtMs } }, nowMs) {
    const next = nextAtMs === null ? '' : `, and was due ${durationText(nowMs - nextAtMs)} ago`;
    return `The last comparison of all teams with Stripe was ${durationText(nowMs - endedAtMs)} ago${next}`;
  },
  advice: REPAIR,
});
