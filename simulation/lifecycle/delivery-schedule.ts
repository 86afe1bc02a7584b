import type { Random } from '../random.ts';
import { type FaultCounts, type FaultName, type Faults, noFaults } from './faults.ts';

/** The part of an event that a schedule needs. */
export type Deliverable = {
  readonly customerId: string;
  readonly number: number;
  readonly atMs: number;
  readonly subscriptionId: string;
  readonly beganSeconds: number;
};

/** A step that happens at the receiver, in this order. */
export type Step =
  | {
      readonly kind: 'deliver';
      readonly atMs: number;
      readonly customerId: string;
      readonly number: number;
      /** Whether the event shares a batch with the one delivered before it. */
      readonly isBatched: boolean;
      /** Whether the API is up at that time, so that the product's name is known. */
      readonly isApiUp: boolean;
    }
  | { readonly kind: 'link'; readonly atMs: number; readonly customerId: string }
  /** The application gives the customer another team, or a second one. */
  | {
      readonly kind: 'relink';
      readonly atMs: number;
      readonly customerId: string;
      readonly how: (typeof RELINKS)[number];
    }
  /** The application writes an active plan into the customer's team. */
  | {
      readonly kind: 'checkout';
      readonly atMs: number;
      readonly customerId: string;
      /** The plan is of this event's subscription, or of a new one that has no events. */
      readonly number: number;
      readonly isNew: boolean;
    }
  /** The browser comes back from the checkout of a subscription, which the application completes. */
  | {
      readonly kind: 'redirect';
      readonly atMs: number;
      readonly customerId: string;
      readonly subscriptionId: string;
      readonly isApiUp: boolean;
    }
  /** The application gives the customer's team a plan without a subscription. */
  | {
      readonly kind: 'gift';
      readonly atMs: number;
      readonly customerId: string;
      readonly hasProduct: boolean;
    }
  /** Maintenance applies parked events and looks up product names. */
  | { readonly kind: 'repair'; readonly atMs: number; readonly isApiUp: boolean }
  /** Maintenance requests snapshots of ambiguous subscriptions. `receive` brings the responses. */
  | { readonly kind: 'request'; readonly atMs: number; readonly isApiUp: boolean }
  | { readonly kind: 'receive'; readonly atMs: number }
  /** From now on Stripe's API returns no subscription. */
  | { readonly kind: 'end-snapshots'; readonly atMs: number };

export type Schedule = {
  readonly steps: readonly Step[];
  readonly deliveries: number;
  readonly counts: FaultCounts;
};

/** The customer moves to another team, the team is deleted and added again, or there are two. */
const RELINKS = ['move', 'recreate', 'duplicate'] as const;

type TimeRange = { readonly fromMs: number; readonly untilMs: number };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const LATENCY_MS = 50;

/** The delays before the first retries of a delivery; later ones follow every 12 hours. */
const BACK_OFF_MS = [2_000, 5 * 60_000, 0.5 * HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS];

/** Below 1, so that every delivery succeeds eventually. */
const MAX_PROBABILITY = 0.9;

/**
 * Schedules the deliveries of events, with these faults. Every event is delivered at least once. Each round
 * also draws the probability of each fault, so that rounds differ more from each other.
 */
export function scheduleDeliveries(
  events: readonly Deliverable[],
  faults: Faults,
  random: Random,
): Schedule {
  const counts = noFaults();
  const probabilities = drawProbabilities(faults, random);
  const happens = (name: FaultName): boolean => {
    const isHappening = random.chance(probabilities[name]);
    if (isHappening) counts[name] += 1;
    return isHappening;
  };

  const first = events[0]?.atMs ?? 0;
  const last = Math.max(first, ...events.map(({ atMs }) => atMs));
  const outage = (name: FaultName): TimeRange => {
    if (!happens(name)) return { fromMs: 0, untilMs: 0 };
    const fromMs = first + random.next() * (last - first);
    return { fromMs, untilMs: fromMs + random.next() * 48 * HOUR_MS };
  };
  const endpointOutage = outage('endpointOutage');
  const databaseOutage = outage('databaseOutage');
  const apiOutage = outage('apiOutage');
  const isApiUpAt = (atMs: number) => !isWithin(apiOutage, atMs);

  /** When a delivery that is first attempted at this time succeeds. */
  function arrival(firstAttemptMs: number): number {
    let atMs = firstAttemptMs;
    for (let attempt = 0; ; attempt += 1) {
      const isDown = isWithin(endpointOutage, atMs) || isWithin(databaseOutage, atMs);
      if (!isDown && !happens('lose')) return atMs;
      atMs += BACK_OFF_MS[attempt] ?? 12 * HOUR_MS;
    }
  }

  // A busy receiver takes the events that arrive in the meantime in one batch.
  const batching = random.pick([0, 0.3, 0.8, 0.95]);
  const steps: Step[] = [];
  function deliver({ customerId, number }: Deliverable, atMs: number, isBatched = false): void {
    const isApiUp = isApiUpAt(atMs);
    steps.push({ kind: 'deliver', atMs, customerId, number, isBatched, isApiUp });
  }

  for (const event of events) {
    let atMs = event.atMs + LATENCY_MS + random.next() * 10;
    if (happens('reorder')) atMs += random.next() * probabilities.reorderSeconds * SECOND_MS;
    if (happens('delay')) atMs += random.next() * probabilities.delayHours * HOUR_MS;
    atMs = arrival(atMs);
    deliver(event, atMs, random.chance(batching));
    if (happens('simultaneous')) deliver(event, atMs, true);
    while (happens('duplicate'))
      deliver(event, arrival(atMs + random.next() * 2 * HOUR_MS), random.chance(batching));
    if (happens('loseResponse')) deliver(event, arrival(atMs + random.pick(BACK_OFF_MS)));
  }

  const deliveries = steps.length;
  if (happens('noSnapshots')) steps.push({ kind: 'end-snapshots', atMs: 0 });
  steps.push(...applicationSteps(events, happens, random));
  steps.push(
    ...redirects(events, happens, random).map((step) => ({
      ...step,
      isApiUp: isApiUpAt(step.atMs),
    })),
  );
  steps.sort((one, other) => one.atMs - other.atMs);
  return { steps: withMaintenance(steps, happens, isApiUpAt), deliveries, counts };
}

/**
 * The application's steps: it links each customer's team before, between or after its events, and can then
 * change which team that is and what the team's row holds.
 */
function applicationSteps(
  events: readonly Deliverable[],
  happens: (name: FaultName) => boolean,
  random: Random,
): Step[] {
  const eventsOf = new Map<string, Deliverable[]>();
  for (const event of events) {
    eventsOf.set(event.customerId, [...(eventsOf.get(event.customerId) ?? []), event]);
  }
  return [...eventsOf].flatMap(([customerId, ofCustomer]): Step[] => {
    const lastMs = Math.max(...ofCustomer.map(({ atMs }) => atMs));
    const anyTime = () =>
      random.chance(0.3) ? lastMs + HOUR_MS : random.pick(ofCustomer).atMs + 100;
    const late = anyTime();
    const linkedAtMs = happens('linkLate') ? late : 0;
    const steps: Step[] = [{ kind: 'link', atMs: linkedAtMs, customerId }];
    const later = () => ({ atMs: Math.max(linkedAtMs, anyTime()), customerId });
    while (happens('relink')) {
      steps.push({ kind: 'relink', ...later(), how: random.pick(RELINKS) });
    }
    while (happens('gift')) {
      steps.push({ kind: 'gift', ...later(), hasProduct: random.chance(0.5) });
    }
    while (happens('checkout')) {
      const { number } = random.pick(ofCustomer);
      steps.push({ kind: 'checkout', ...later(), number, isNew: random.chance(0.5) });
    }
    return steps;
  });
}

/** A browser that comes back later does not count as coming from the checkout. */
export const LONGEST_REDIRECT_SECONDS = 600;

/**
 * Completes checkouts within minutes after their subscriptions began. A customer with a single one can come back at
 * any time, even after all of its events.
 */
function redirects(
  events: readonly Deliverable[],
  happens: (name: FaultName) => boolean,
  random: Random,
) {
  const firstOf = new Map(events.map((event) => [event.subscriptionId, event]));
  return [...firstOf.values()].flatMap(({ customerId, subscriptionId, beganSeconds }) => {
    if (!happens('redirect')) return [];
    const ofCustomer = events.filter((event) => event.customerId === customerId);
    const isOnly = ofCustomer.every((event) => event.subscriptionId === subscriptionId);
    const soonSeconds = 1 + random.next() * random.pick([1, 5, 60, LONGEST_REDIRECT_SECONDS - 1]);
    const atMs =
      isOnly && random.chance(0.5)
        ? random.pick(ofCustomer).atMs + random.pick([1, HOUR_MS])
        : (beganSeconds + soonSeconds) * SECOND_MS;
    return [{ kind: 'redirect' as const, atMs, customerId, subscriptionId }];
  });
}

/** Runs maintenance between deliveries. Some of them happen while the API's response is awaited. */
function withMaintenance(
  steps: readonly Step[],
  happens: (name: FaultName) => boolean,
  isApiUpAt: (atMs: number) => boolean,
): Step[] {
  let isAwaiting = false;
  return steps.flatMap((step): Step[] => {
    const { atMs } = step;
    if (!happens('maintenance')) return [step];
    isAwaiting = !isAwaiting;
    if (!isAwaiting) return [step, { kind: 'receive', atMs }];
    const isApiUp = isApiUpAt(atMs);
    return [step, { kind: 'repair', atMs, isApiUp }, { kind: 'request', atMs, isApiUp }];
  });
}

function isWithin({ fromMs, untilMs }: TimeRange, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

/** Some rounds lack a fault completely, and some reorder without a limit. */
function drawProbabilities(faults: Faults, random: Random): Faults {
  const drawn = { ...faults };
  const deliveries = ['duplicate', 'reorder', 'delay', 'lose', 'loseResponse'] as const;
  const names = [...deliveries, 'maintenance', 'relink', 'checkout', 'gift', 'redirect'] as const;
  for (const name of names) {
    const factor = random.pick([0, 0.5, 1, 1, 2]);
    drawn[name] = Math.min(faults[name] * factor, MAX_PROBABILITY);
  }
  if (random.chance(0.2)) drawn.reorderSeconds = 1_000 * faults.reorderSeconds;
  return drawn;
}
