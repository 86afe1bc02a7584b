// The issues of the service: each one is a sentence about its state.

import { counted, countText, durationText } from 'instep-engine/runtime';
import { mismatchOf } from 'instep-engine/stripe';
import { type IssueKind, REPAIR, SERVER_ASKS, type Severity } from './issue.ts';
import type { Refusals } from './refusals.ts';
import { MAX_NAMELESS, type ServiceState } from './service-state.ts';

/** An issue of the service. */
type ServiceIssue = Pick<IssueKind, 'severity' | 'advice'> & {
  /** What is wrong, in a sentence without a period; `null`: nothing is. The severity is other than usually. */
  readonly find: (
    state: ServiceState,
    nowMs: number,
  ) => { readonly text: string; readonly severity?: Severity } | null;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * HOUR_MS;

/** A consumer that is behind for so long is probably not used any more. */
const BEHIND_LONG_MS = DAY_MS;

/** A comparison waits for the lease, and for the answers of Stripe. */
const SLACK_MS = 10 * MINUTE_MS;

/** Anyone can send a few forged deliveries or cookies; a browser also sends the cookie of another app on the host. */
const severityOf = ({ refused }: Refusals) => (refused < 5 ? 'warning' : 'failure');

/** When all teams should be compared next; `null`: that is unknown. Without an interval they are compared daily, if at all. */
function nextComparison({ reconciled }: ServiceState) {
  if (reconciled?.completed == null) return null;
  const { completed, intervalMs } = reconciled;
  return { atMs: completed.startedAtMs + (intervalMs ?? DAY_MS), isPlanned: intervalMs !== null };
}

/** All of them, in the order in which they should be looked at. */
export const SERVICE_ISSUES = {
  'deliveries-refused': {
    severity: 'failure',
    find({ refusals: { deliveries }, lastDeliveredMs }, nowMs) {
      if (deliveries === undefined || (lastDeliveredMs ?? 0) >= deliveries.sinceMs) return null;
      const { refused, sinceMs } = deliveries;
      const noun = refused === 1 ? 'delivery' : 'deliveries';
      const text = `${countText(refused)} ${noun} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret; none was accepted since`;
      return { text, severity: lastDeliveredMs === null ? 'failure' : severityOf(deliveries) };
    },
    advice:
      "set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (Stripe dashboard, Developers, Webhooks; `stripe listen` prints its own), and restart",
  },

  'sessions-refused': {
    severity: 'failure',
    find({ refusals: { sessions } }, nowMs) {
      if (sessions === undefined) return null;
      const { refused, sinceMs } = sessions;
      const text = `${counted(refused, 'session cookie')} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret, so their users count as signed out`;
      return { text, severity: severityOf(sessions) };
    },
    advice:
      'set AUTH_SECRET to the secret that your app signs its sessions with, and restart; while you replace it, to both: AUTH_SECRET=new,old',
  },

  'nothing-delivered': {
    severity: 'failure',
    find({ undeliveredSinceMs }, nowMs) {
      const undeliveredMs = nowMs - (undeliveredSinceMs ?? nowMs);
      if (undeliveredMs <= UNDELIVERED_LONG_MS) return null;
      return {
        text: `Stripe has delivered no event for ${durationText(undeliveredMs)}; all were found by catch-up`,
      };
    },
    advice: 'check the webhook endpoint and its secret',
  },

  /** Also if the key does not show its mode, but the events are in both. */
  'events-in-other-mode': {
    severity: 'failure',
    find({ origins, keyMode, lastDeliveredMs }, nowMs) {
      const mode = keyMode === 'live' ? 'test' : 'live';
      const events = origins.filter((origin) => origin.mode === mode).length;
      const isBoth = origins.some((origin) => origin.mode !== null && origin.mode !== mode);
      if (events === 0 || (keyMode === null && !isBoth)) return null;
      const key =
        keyMode === null
          ? 'others in the other one'
          : `but the API key is in ${keyMode} mode: it can't find anything that they refer to`;
      const text = `${countText(events)} of the last ${counted(origins.length, 'event')} in ${mode} mode, ${key}`;
      // Older ones can be from before the key was changed.
      const isOld = nowMs - (lastDeliveredMs ?? 0) >= HOUR_MS;
      return { text, severity: isBoth || isOld ? 'warning' : 'failure' };
    },
    advice:
      'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode, and run a separate Instep, with its own database, for each mode',
  },

  /** They are applied, because their signature is valid. */
  'events-of-other-accounts': {
    severity: 'warning',
    find({ origins, keyMode }) {
      const foreign = origins.filter((origin) => mismatchOf(origin, keyMode) === 'account');
      if (foreign.length === 0) return null;
      const accounts = [...new Set(foreign.flatMap(({ account }) => account ?? []))].join(', ');
      return {
        text: `${countText(foreign.length)} of the last ${counted(origins.length, 'event')} of other accounts (${accounts}): they were applied`,
      };
    },
    advice:
      'register the endpoint only for events of your own account, unless your teams have customers in the others',
  },

  'products-without-name': {
    severity: 'warning',
    find({ namelessProducts: products }) {
      if (products.length === 0) return null;
      const names = counted(products.length, 'product', MAX_NAMELESS);
      // Stripe's ids never have a character that reverses a text, but an app's can.
      const ids = products.join(', ').replace(/[\p{Cc}\p{Cf}]/gu, '');
      return { text: `The name of ${names} is unknown (${ids}), so their plans have no name` };
    },
    advice: SERVER_ASKS,
  },

  'different-policies': {
    severity: 'warning',
    find({ otherPolicy }) {
      if (otherPolicy === null) return null;
      return {
        text: `An instance is running with another access policy (${otherPolicy}) than the one that started last, which decides`,
      };
    },
    advice: 'set the same TEAM_PLAN and PAST_DUE_GRACE for all instances',
  },

  'job-failed': {
    severity: 'warning',
    find: ({ failedJobs }, nowMs) =>
      sentences(
        failedJobs,
        ({ job, code, sinceMs, attemptAtMs }) =>
          `The job ${job} has failed for ${durationText(nowMs - sinceMs)} (${code}); the next attempt is ${dueText(attemptAtMs - nowMs)}`,
      ),
    advice: 'read the reason in the server log',
  },

  'changes-set-aside': {
    severity: 'warning',
    find: ({ consumers }) =>
      sentences(
        consumers.filter(({ setAsideCount }) => setAsideCount > 0),
        ({ name, setAsideCount }) =>
          `The consumer ${name} failed to handle ${counted(setAsideCount, 'change')}`,
      ),
    advice:
      'see why: `instep changes`, and pass them on again: `instep changes --consumer NAME --replay ID`',
  },

  'consumer-behind': {
    severity: 'warning',
    find(state, nowMs) {
      const consumers = state.consumers.map(({ name, behindSince }) => ({
        name,
        behindMs: nowMs - (behindSince?.getTime() ?? nowMs),
      }));
      return sentences(
        consumers.filter(({ behindMs }) => behindMs > BEHIND_LONG_MS),
        ({ name, behindMs }) => `The consumer ${name} is ${durationText(behindMs)} behind`,
      );
    },
    advice: 'run it, or forget it: `instep changes --consumer NAME --remove`',
  },

  'teams-not-compared': {
    severity: 'warning',
    find(state, nowMs) {
      const { linked = 0, uncompared = 0 } = state.teams ?? {};
      if (uncompared === 0) return null;
      const next = nextComparison(state);
      const when = next?.isPlanned ? `; the next comparison is ${dueText(next.atMs - nowMs)}` : '';
      const text = `${countText(uncompared)} of ${counted(linked, 'team')} not compared with Stripe yet${when}`;
      return { text, severity: next !== null && state.isFollowing ? 'notice' : 'warning' };
    },
    advice: REPAIR,
  },

  'comparison-overdue': {
    severity: 'warning',
    find(state, nowMs) {
      const completed = state.reconciled?.completed ?? null;
      const next = nextComparison(state);
      if (completed === null || next === null || state.teams?.linked === 0) return null;
      const { startedAtMs, endedAtMs } = completed;
      // The whole interval counts from the start, and the next comparison can take as long as the last one.
      if (nowMs <= next.atMs + 2 * (endedAtMs - startedAtMs) + SLACK_MS) return null;
      const due = next.isPlanned ? `, and was due ${durationText(nowMs - next.atMs)} ago` : '';
      return {
        text: `The last comparison of all teams with Stripe was ${durationText(nowMs - endedAtMs)} ago${due}`,
      };
    },
    advice: REPAIR,
  },
} as const satisfies Readonly<Record<string, ServiceIssue>>;

/** `in 5 min`, or `now` when it is due. */
const dueText = (ms: number) => (ms <= 0 ? 'due now' : `in ${durationText(ms)}`);

/** One sentence for each; `null` without any. */
const sentences = <Item>(items: readonly Item[], textOf: (item: Item) => string) =>
  items.length === 0 ? null : { text: items.map(textOf).join('. ') };
