// The issues of the service: each one is found in its state, without I/O.

import { counted, countText, durationText } from 'instep-engine/runtime';
import { mismatchOf } from 'instep-engine/stripe';
import { type IssueKind, REPAIR, SERVER_ASKS, type Severity } from './issue.ts';
import type { Refusals } from './refusals.ts';
import { MAX_NAMELESS, type ServiceState } from './service-state.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** An issue of the service, if it is there. */
export type FoundInService = {
  /** What is wrong, in a sentence without a period. */
  readonly text: string;
  /** What is known about it. Times are in milliseconds since 1970. */
  readonly evidence: object;
  /** Other than usually. */
  readonly severity?: Severity | undefined;
};

/** Finds an issue in the state of the service. */
type Find = (state: ServiceState, nowMs: number) => FoundInService | null;

/** An issue of the service that is this severe, unless it is found otherwise. */
const serviceIssue = <F extends Find>(severity: Severity, { find, advice }: Issue<F>) => ({
  ...({ severity, concerns: 'service', remedies: [], advice } satisfies IssueKind),
  find,
});

type Issue<F> = Pick<IssueKind, 'advice'> & { readonly find: F };

/** `in 5 min`, or `now` when it is due. */
const dueText = (ms: number) => (ms <= 0 ? 'due now' : `in ${durationText(ms)}`);

/** Anyone can send a few forged deliveries or cookies; a browser also sends the cookie of another app on the host. */
const FEW_REFUSED = 5;

const severityOf = ({ refused }: Refusals) => (refused < FEW_REFUSED ? 'warning' : undefined);

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * HOUR_MS;

/** A consumer that is behind for so long is probably not used any more. */
const BEHIND_LONG_MS = DAY_MS;

/** A comparison waits for the lease, and for the answers of Stripe. */
const SLACK_MS = 10 * MINUTE_MS;

/** When all teams should be compared next; `null`: they never were. They are compared daily unless configured otherwise. */
const dueAtMs = ({ reconciled }: ServiceState) =>
  reconciled?.completed
    ? reconciled.completed.startedAtMs + (reconciled.intervalMs ?? DAY_MS)
    : null;

/** The same, as far as it is known. */
const nextAtMs = (state: ServiceState) => (state.reconciled?.intervalMs ? dueAtMs(state) : null);

/** All of them, in the order in which they should be looked at. */
export const SERVICE_ISSUES = {
  'writes-not-committed': serviceIssue('failure', {
    find({ figures }) {
      const text =
        'No synchronous standby is connected, so the database commits no writes: events get a 503, and Stripe sends them again';
      return figures.isStandbyMissing ? { text, evidence: {} } : null;
    },
    advice: 'connect a standby of synchronous_standby_names, or correct the names',
  }),

  'deliveries-refused': serviceIssue('failure', {
    find({ refusals, figures: { lastDeliveredMs } }, nowMs) {
      const evidence = refusals.get('deliveries');
      if (evidence === undefined || (lastDeliveredMs ?? 0) >= evidence.sinceMs) return null;
      const { refused, sinceMs } = evidence;
      const deliveries = refused === 1 ? 'delivery' : 'deliveries';
      const text = `${countText(refused)} ${deliveries} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret; none was accepted since`;
      const severity = lastDeliveredMs === null ? undefined : severityOf(evidence);
      return { text, evidence, severity };
    },
    advice:
      "set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (Stripe dashboard, Developers, Webhooks; `stripe listen` prints its own), and restart",
  }),

  'sessions-refused': serviceIssue('failure', {
    find({ refusals }, nowMs) {
      const evidence = refusals.get('sessions');
      if (evidence === undefined) return null;
      const { refused, sinceMs } = evidence;
      const text = `${counted(refused, 'session cookie')} refused for ${durationText(nowMs - sinceMs)}, because the signature is of another secret, so their users count as signed out`;
      return { text, evidence, severity: severityOf(evidence) };
    },
    advice:
      'set AUTH_SECRET to the secret that your app signs its sessions with, and restart; while you replace it, to both: AUTH_SECRET=new,old',
  }),

  'nothing-delivered': serviceIssue('failure', {
    find({ figures: { undeliveredSinceMs: sinceMs } }, nowMs) {
      if (sinceMs === null || nowMs - sinceMs <= UNDELIVERED_LONG_MS) return null;
      const text = `Stripe has delivered no event for ${durationText(nowMs - sinceMs)}; all were found by catch-up`;
      return { text, evidence: { sinceMs } };
    },
    advice: 'check the webhook endpoint and its secret',
  }),

  /** Also if the key does not show its mode, but the events are in both. */
  'events-in-other-mode': serviceIssue('failure', {
    find({ origins, keyMode, figures: { lastDeliveredMs } }, nowMs) {
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
      const evidence = { events, of: origins.length, mode, keyMode } as const;
      return { text, evidence, severity: isBoth || isOld ? 'warning' : undefined };
    },
    advice:
      'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode, and run a separate Instep, with its own database, for each mode',
  }),

  /** They are applied, because their signature is valid. */
  'events-of-other-accounts': serviceIssue('warning', {
    find({ origins, keyMode }) {
      const foreign = origins.filter((origin) => mismatchOf(origin, keyMode) === 'account');
      if (foreign.length === 0) return null;
      const accounts = [...new Set(foreign.flatMap(({ account }) => account ?? []))];
      const text = `${countText(foreign.length)} of the last ${counted(origins.length, 'event')} of other accounts (${accounts.join(', ')}): they were applied`;
      return { text, evidence: { events: foreign.length, of: origins.length, accounts } };
    },
    advice:
      'register the endpoint only for events of your own account, unless your teams have customers in the others',
  }),

  'products-without-name': serviceIssue('warning', {
    find({ figures: { namelessProducts: products } }) {
      const names = counted(products.length, 'product', MAX_NAMELESS);
      // Stripe's ids never have a character that reverses a text, but an app's can.
      const ids = products.join(', ').replace(/[\p{Cc}\p{Cf}]/gu, '');
      const text = `The name of ${names} is unknown (${ids}), so their plans have no name`;
      return products.length === 0 ? null : { text, evidence: { products } };
    },
    advice: SERVER_ASKS,
  }),

  'different-policies': serviceIssue('warning', {
    find({ otherPolicy }) {
      const text = `An instance is running with another access policy (${otherPolicy}) than the one that started last, which decides`;
      return otherPolicy === null ? null : { text, evidence: { otherPolicy } };
    },
    advice: 'set the same TEAM_PLAN and PAST_DUE_GRACE for all instances',
  }),

  'job-failed': serviceIssue('warning', {
    find({ failedJobs: jobs }, nowMs) {
      const texts = jobs.map(
        ({ job, code, sinceMs, attemptAtMs }) =>
          `The job ${job} has failed for ${durationText(nowMs - sinceMs)} (${code}); the next attempt is ${dueText(attemptAtMs - nowMs)}`,
      );
      return jobs.length === 0 ? null : { text: texts.join('. '), evidence: { jobs } };
    },
    advice: 'read the reason in the server log',
  }),

  'changes-set-aside': serviceIssue('warning', {
    find(state) {
      const consumers = state.consumers.filter(({ setAside }) => setAside > 0);
      const texts = consumers.map(
        ({ name, setAside }) =>
          `The consumer ${name} failed to handle ${counted(setAside, 'change')}`,
      );
      return consumers.length === 0 ? null : { text: texts.join('. '), evidence: { consumers } };
    },
    advice:
      'see why: `instep changes`, and pass them on again: `instep changes --consumer NAME --replay ID`',
  }),

  'consumer-behind': serviceIssue('warning', {
    find(state, nowMs) {
      const behindMs = (behindSinceMs: number | null) => nowMs - (behindSinceMs ?? nowMs);
      const consumers = state.consumers.filter(
        ({ behindSinceMs }) => behindMs(behindSinceMs) > BEHIND_LONG_MS,
      );
      const texts = consumers.map(
        ({ name, behindSinceMs }) =>
          `The consumer ${name} is ${durationText(behindMs(behindSinceMs))} behind`,
      );
      return consumers.length === 0 ? null : { text: texts.join('. '), evidence: { consumers } };
    },
    advice: 'run it, or forget it: `instep changes --consumer NAME --remove`',
  }),

  'teams-not-compared': serviceIssue('warning', {
    find(state, nowMs) {
      const { teams, reconciled, figures } = state;
      if (teams === null || teams.uncompared === 0) return null;
      const { linked, uncompared } = teams;
      const next = nextAtMs(state);
      const when = next === null ? '' : `; the next comparison is ${dueText(next - nowMs)}`;
      const text = `${countText(uncompared)} of ${counted(linked, 'team')} not compared with Stripe yet${when}`;
      const isSoon = reconciled?.completed && figures.isFollowing;
      const evidence = { linked, uncompared, nextAtMs: next };
      return { text, evidence, severity: isSoon ? 'notice' : undefined };
    },
    advice: REPAIR,
  }),

  'comparison-overdue': serviceIssue('warning', {
    find(state, nowMs) {
      const { completed = null } = state.reconciled ?? {};
      if (completed === null || state.teams?.linked === 0) return null;
      const { startedAtMs, endedAtMs } = completed;
      // The whole interval counts from the start, and the next comparison can take as long as the last one.
      const latestMs = (dueAtMs(state) ?? 0) + 2 * (endedAtMs - startedAtMs) + SLACK_MS;
      if (nowMs <= latestMs) return null;
      const next = nextAtMs(state);
      const due = next === null ? '' : `, and was due ${durationText(nowMs - next)} ago`;
      const text = `The last comparison of all teams with Stripe was ${durationText(nowMs - endedAtMs)} ago${due}`;
      return { text, evidence: { endedAtMs, nextAtMs: next } };
    },
    advice: REPAIR,
  }),
};
