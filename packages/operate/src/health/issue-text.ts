// The words for issues, once for the doctor, the overview and the alerts.

import { counted, countText, durationText } from 'instep-engine/runtime';
import { type Issue, type IssueCode, PAYMENT_DUE_DAYS } from './issues.ts';

/**
 * What is wrong, in a sentence without a period. The page or command that shows it adds what to do.
 *
 * @example
 * ```ts
 * import { type Issue, issueText } from 'instep/operate';
 *
 * const issue: Issue = {
 *   ...{ code: 'products-without-name', severity: 'warning', concerns: 'service' },
 *   ...{ remedies: [], count: 1, isMore: false, evidence: { products: 2 } },
 * };
 * console.log(issueText(issue, 1_800_000_000_000)); // The name of 2 products is unknown…
 * ```
 */
export function issueText(issue: Issue, nowMs: number): string {
  const since = (ms: number) => durationText(nowMs - ms);
  switch (issue.code) {
    case 'writes-not-committed':
      return 'No synchronous standby is connected, so the database commits no writes: events get a 503, and Stripe sends them again';
    case 'deliveries-refused': {
      const { refused, sinceMs } = issue.evidence;
      const deliveries = refused === 1 ? 'delivery' : 'deliveries';
      return `${countText(refused)} ${deliveries} refused for ${since(sinceMs)}, because the signature is of another secret; none was accepted since`;
    }
    case 'sessions-refused': {
      const { refused, sinceMs } = issue.evidence;
      return `${counted(refused, 'session cookie')} refused for ${since(sinceMs)}, because the signature is of another secret, so their users count as signed out`;
    }
    case 'parked-events': {
      const { events, sinceMs } = issue.evidence;
      const waited = sinceMs === null ? '' : `; the oldest has waited ${since(sinceMs)}`;
      return `${counted(events, 'event')} of ${subjects(issue, 'customer')} without a team${waited}`;
    }
    case 'unreadable-event':
      return `${subjects(issue, 'event')} could not be read`;
    case 'nothing-delivered':
      return `Stripe has delivered no event for ${since(issue.evidence.sinceMs)}; all were found by catch-up`;
    case 'events-in-other-mode': {
      const { events, of, mode, keyMode } = issue.evidence;
      return `${countText(events)} of the last ${counted(of, 'event')} in ${mode} mode, but the API key is in ${keyMode} mode: it can't find anything that they refer to`;
    }
    case 'events-in-both-modes': {
      const { events, of, mode } = issue.evidence;
      return `Events of test and live mode arrive in this database: ${countText(events)} of the last ${countText(of)} are in ${mode} mode`;
    }
    case 'events-of-other-accounts': {
      const { events, of, accounts } = issue.evidence;
      return `${countText(events)} of the last ${counted(of, 'event')} of other accounts (${accounts.join(', ')}): they were applied`;
    }
    case 'unknown-order':
      return `${subjects(issue, 'subscription')} with same-second events whose order is unknown`;
    case 'products-without-name':
      return `The name of ${counted(issue.evidence.products, 'product')} is unknown, so their plans have no name`;
    case 'different-policies':
      return `An instance is running with another access policy (${issue.evidence.otherPolicy}) than the one that started last, which decides`;
    case 'job-failed':
      return issue.evidence.jobs
        .map(
          ({ job, code, sinceMs, attemptAtMs }) =>
            `The job ${job} has failed for ${since(sinceMs)} (${code}); the next attempt is ${dueText(attemptAtMs - nowMs)}`,
        )
        .join('. ');
    case 'changes-set-aside':
      return issue.evidence.consumers
        .map(
          ({ name, setAside }) =>
            `The consumer ${name} failed to handle ${counted(setAside, 'change')}`,
        )
        .join('. ');
    case 'consumer-behind':
      return issue.evidence.consumers
        .map(
          ({ name, behindSinceMs }) =>
            `The consumer ${name} is ${since(behindSinceMs ?? nowMs)} behind`,
        )
        .join('. ');
    case 'teams-not-compared': {
      const { linked, uncompared, nextAtMs } = issue.evidence;
      const next = nextAtMs === null ? '' : `; the next comparison is ${dueText(nextAtMs - nowMs)}`;
      return `${countText(uncompared)} of ${counted(linked, 'team')} not compared with Stripe yet${next}`;
    }
    case 'comparison-overdue': {
      const { endedAtMs, nextAtMs } = issue.evidence;
      const next = nextAtMs === null ? '' : `, and was due ${since(nextAtMs)} ago`;
      return `The last comparison of all teams with Stripe was ${since(endedAtMs)} ago${next}`;
    }
    case 'out-of-sync':
      return `${subjects(issue, 'team')} out of sync with Stripe`;
    case 'changed-by-hand':
      return `${subjects(issue, 'team')} changed by hand, not by an event`;
    case 'plan-refused':
      return `${subjects(issue, 'team')} with a plan that the database refuses or does not write in time`;
    case 'customer-without-team':
      return `${subjects(issue, 'customer')} with a subscription but without a team`;
    case 'unknown-customer':
      return `${subjects(issue, 'team')} with a customer that Stripe does not know`;
    case 'paid-without-plan':
      return `${subjects(issue, 'team')} without a plan, because a subscription of the customer has ended; another one goes on`;
    case 'payment-due':
      return `${subjects(issue, 'team')} with a plan whose payment has been due for more than ${PAYMENT_DUE_DAYS} days`;
    case 'end-not-confirmed':
      return `${subjects(issue, 'team')} without access, because the end of the subscription has passed; no event has confirmed it`;
    case 'double-billed':
      return `${subjects(issue, 'customer')} with several subscriptions that Stripe charges at once`;
  }
}

/** `in 5 min`, or `now` when it is due. */
function dueText(ms: number): string {
  return ms <= 0 ? 'due now' : `in ${durationText(ms)}`;
}

/** `2 teams`, or `1,000+ teams` where counting stopped. */
function subjects({ count, isMore }: Issue, noun: string): string {
  return isMore ? `${countText(count, count)} ${noun}s` : counted(count, noun);
}

const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and what STRIPE_SECRET_KEY can read';
const REPAIR = 'compare and repair them: `instep reconcile`';

/** What to do about each issue, from a terminal; commands are in backticks. */
export const ADVICE: Readonly<Record<IssueCode, string>> = {
  'writes-not-committed': 'connect a standby of synchronous_standby_names, or correct the names',
  'deliveries-refused':
    "set STRIPE_WEBHOOK_SECRET to the endpoint's signing secret (Stripe dashboard, Developers, Webhooks; `stripe listen` prints its own), and restart",
  'sessions-refused':
    'set AUTH_SECRET to the secret that your app signs its sessions with, and restart; while you replace it, to both: AUTH_SECRET=new,old',
  'events-in-other-mode': 'set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode',
  'events-in-both-modes': 'run a separate Instep, with its own database, for each mode',
  'events-of-other-accounts':
    'register the endpoint only for events of your own account, unless your teams have customers in the others',
  'parked-events':
    'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
  'unreadable-event':
    'upgrade Instep and replay them: `instep events replay --outcome unreadable`; if that does not help, report the reason from the log lines `event unreadable`',
  'nothing-delivered': 'check the webhook endpoint and its secret',
  'unknown-order': SERVER_ASKS,
  'products-without-name': SERVER_ASKS,
  'different-policies':
    'set the same TEAM_PLAN, PAST_DUE_GRACE and PAUSED_ACCESS for all instances',
  'job-failed': 'read the reason in the server log',
  'changes-set-aside':
    'see why: `instep changes --list`, and pass them on again: `instep changes --consumer NAME --replay ID`',
  'consumer-behind': 'run it, or forget it: `instep changes --consumer NAME --remove`',
  'teams-not-compared': REPAIR,
  'comparison-overdue': REPAIR,
  'out-of-sync': REPAIR,
  'changed-by-hand': REPAIR,
  'plan-refused': 'read the reason in the server log, then repair them: `instep reconcile`',
  'customer-without-team': 'link each to its team: `instep team link ID --customer CUS`',
  'unknown-customer':
    'link the right customer to each: `instep team link ID --customer CUS --replace OLD`; if Stripe knows none of them, check the account and the mode of the API key',
  'paid-without-plan':
    'set TEAM_PLAN=best and restart, or cancel the subscriptions that go on at Stripe',
  'payment-due':
    'cancel the subscriptions or mark them unpaid at Stripe (Settings, Billing, Subscriptions), or set PAST_DUE_GRACE and ask instep.team_access',
  'end-not-confirmed': SERVER_ASKS,
  'double-billed':
    'cancel the subscription that is not wanted at Stripe, or dismiss the issue in the console with a note',
};
