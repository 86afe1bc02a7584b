import type { Progress } from '../../../maintenance/reconcile/progress.ts';
import { type Health, MAX_COUNTED_PARKED } from '../../../queries/health.ts';
import type { LeasedJobState } from '../../../queries/leased-jobs.ts';
import { durationOf } from '../../../runtime/duration.ts';

/** Something that does not repair itself. */
export type Concern = {
  readonly says: string;
  readonly whatToDo: string;
  /** Where one sees more of it, or does it; `null` when that is not on these pages. */
  readonly link: { readonly path: string; readonly text: string } | null;
};

/** What is known of how things stand. */
export type Standing = {
  readonly health: Health;
  readonly catchUp: LeasedJobState | null;
  /** The last reconciliation, whether it has ended or not. */
  readonly reconciled: Progress | null;
};

/** An event may come before its team is linked; so long that takes. */
const PARKED_LONG_MS = 10 * 60_000;

/** What catch-up brought first Stripe delivers in time; it then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * 60 * 60_000;

/** A month of events is listed in a fraction of this. */
const CATCH_UP_LONG_MS = 60 * 60_000;

/** What somebody has to do something about; none: nobody has to do anything. */
export function concernsOf(standing: Standing, nowMs: number): Concern[] {
  return [
    ...parkedConcerns(standing, nowMs),
    ...deliveryConcerns(standing, nowMs),
    ...selfMendingConcerns(standing, nowMs),
    ...reconcileConcerns(standing),
  ];
}

/** `1,234`, and `10,000+` where no more are counted. */
export function countText(count: number, most = Number.POSITIVE_INFINITY): string {
  return `${count.toLocaleString('en')}${count >= most ? '+' : ''}`;
}

/** `1 product`, `2 products` */
function numberOf(count: number, what: string): string {
  return `${countText(count)} ${what}${count === 1 ? '' : 's'}`;
}

function parkedConcerns({ health }: Standing, nowMs: number): Concern[] {
  const { parkedEvents, parkedSinceMs } = health;
  if (parkedSinceMs === null || nowMs - parkedSinceMs < PARKED_LONG_MS) return [];
  return [
    {
      says: `Parked events: ${countText(parkedEvents, MAX_COUNTED_PARKED)}. No team follows their customers.`,
      whatToDo: 'Link each customer to its team: instep team link ID --customer CUS.',
      link: { path: '/events?outcome=parked', text: 'Parked events' },
    },
  ];
}

function deliveryConcerns({ health }: Standing, nowMs: number): Concern[] {
  const { unreadableEvents, undeliveredSinceMs } = health;
  const concerns: Concern[] = [];
  if (unreadableEvents > 0) {
    concerns.push({
      says: `Of the newest thousand events ${unreadableEvents} have no shape that is known.`,
      whatToDo: 'Upgrade Instep and replay them, or report it.',
      link: { path: '/events?outcome=unreadable', text: 'Unreadable events' },
    });
  }
  if (undeliveredSinceMs !== null && nowMs - undeliveredSinceMs > UNDELIVERED_LONG_MS) {
    concerns.push({
      says: `For ${durationOf(nowMs - undeliveredSinceMs)} events have come by catching up only: Stripe delivers none.`,
      whatToDo: 'Run instep doctor: it looks at the webhook endpoint and its secret.',
      link: null,
    });
  }
  return concerns;
}

/** What the server repairs by itself, unless something keeps it from that. */
function selfMendingConcerns({ health, catchUp }: Standing, nowMs: number): Concern[] {
  const concerns: Concern[] = [];
  const { ambiguousSubscriptions, namelessProducts, unresolvedProducts } = health;
  if (ambiguousSubscriptions > 0) {
    concerns.push({
      says: `Of ${numberOf(ambiguousSubscriptions, 'subscription')} nothing tells which event of a second came last.`,
      whatToDo: 'Look why Stripe cannot be asked: run instep doctor.',
      link: null,
    });
  }
  if (unresolvedProducts > 0) {
    concerns.push({
      says: `Stripe tells no name of ${numberOf(namelessProducts, 'product')}, so their plans have none.`,
      whatToDo: 'Look whether they exist at Stripe, and whether the API key may read products.',
      link: null,
    });
  }
  const startedAtMs = catchUp?.startedAtMs ?? null;
  if (
    startedAtMs !== null &&
    catchUp?.endedAtMs === null &&
    nowMs - startedAtMs > CATCH_UP_LONG_MS
  ) {
    concerns.push({
      says: `Catching up has not come to its end for ${durationOf(nowMs - startedAtMs)}.`,
      whatToDo: 'Look whether the API key may read events: run instep doctor.',
      link: null,
    });
  }
  return concerns;
}

function reconcileConcerns({ reconciled }: Standing): Concern[] {
  if (reconciled === null) return [];
  const { drifts, repaired, customersWithoutTeam, unknownCustomers } = reconciled.counts;
  const found = [
    [drifts - repaired, 'team', 'not as Stripe says', 'Look, and repair.'],
    [customersWithoutTeam, 'customer', 'without a team, but with a subscription', 'Link a team.'],
    [unknownCustomers, 'team', 'of a customer whom Stripe does not know', 'Link the right one.'],
  ] as const;
  return found
    .filter(([count]) => count > 0)
    .map(([count, what, how, whatToDo]) => ({
      says: `The last reconciliation found ${numberOf(count, what)} ${how}.`,
      whatToDo,
      link: { path: '/reconcile', text: 'Reconcile' },
    }));
}
