import type { Random } from '../random.ts';
import { type FaultCounts, type FaultName, type Faults, noFaults } from './faults.ts';

/** An event, as far as its delivery is concerned. */
export type Deliverable = {
  readonly customerId: string;
  readonly number: number;
  readonly atMs: number;
};

/** What happens at the receiver's end, in this order. */
export type Step =
  | {
      readonly kind: 'deliver';
      readonly atMs: number;
      readonly customerId: string;
      readonly number: number;
      /** Whether it comes together with the delivery before it, in one batch. */
      readonly isTogether: boolean;
      /** Whether the API answers at that time: then the product's name is known with it. */
      readonly hasApi: boolean;
    }
  | { readonly kind: 'link'; readonly atMs: number; readonly customerId: string }
  /** The keeper applies parked events and names products. */
  | { readonly kind: 'repair'; readonly atMs: number; readonly hasApi: boolean }
  /** The keeper asks the API for subscriptions that are marked; the answers come with `answer`. */
  | { readonly kind: 'ask'; readonly atMs: number; readonly hasApi: boolean }
  | { readonly kind: 'answer'; readonly atMs: number };

export type Schedule = {
  readonly steps: readonly Step[];
  readonly deliveries: number;
  readonly counts: FaultCounts;
};

type Window = { readonly fromMs: number; readonly untilMs: number };

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const LATENCY_MS = 50;

/** After how long an attempt is repeated; then every twelve hours. */
const BACK_OFF_MS = [2_000, 5 * 60_000, 0.5 * HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS];

/** Some attempt has to succeed in the end. */
const MAX_PROBABILITY = 0.9;

/**
 * Makes a schedule of deliveries for events, with these faults. In the end every event has been
 * delivered at least once. Of each fault whether a round has it at all is chance as well, so that
 * rounds differ more than probabilities alone would make them.
 */
export function scheduleDeliveries(
  events: readonly Deliverable[],
  faults: Faults,
  random: Random,
): Schedule {
  const counts = noFaults();
  const chosen = choose(faults, random);
  const happens = (name: FaultName): boolean => {
    const isSo = random.chance(chosen[name]);
    if (isSo) counts[name] += 1;
    return isSo;
  };

  const first = events[0]?.atMs ?? 0;
  const last = Math.max(first, ...events.map(({ atMs }) => atMs));
  const outage = (name: FaultName): Window => {
    if (!happens(name)) return { fromMs: 0, untilMs: 0 };
    const fromMs = first + random.next() * (last - first);
    return { fromMs, untilMs: fromMs + random.next() * 48 * HOUR_MS };
  };
  const noEndpoint = outage('endpointOutage');
  const noDatabase = outage('databaseOutage');
  const noApi = outage('apiOutage');

  /** When an attempt succeeds at last; `atMs` is the first one's time. */
  function arrival(atMs: number): number {
    let arrivesAtMs = atMs;
    for (let attempt = 0; ; attempt += 1) {
      const isOut = isWithin(noEndpoint, arrivesAtMs) || isWithin(noDatabase, arrivesAtMs);
      if (!isOut && !happens('lose')) return arrivesAtMs;
      arrivesAtMs += BACK_OFF_MS[attempt] ?? 12 * HOUR_MS;
    }
  }

  // How busy the receiver is: what comes meanwhile is taken together.
  const togetherness = random.pick([0, 0.3, 0.8, 0.95]);
  const steps: Step[] = [];
  function deliver({ customerId, number }: Deliverable, atMs: number, isTogether = false): void {
    const hasApi = !isWithin(noApi, atMs);
    steps.push({ kind: 'deliver', atMs, customerId, number, isTogether, hasApi });
  }

  for (const event of events) {
    let atMs = event.atMs + LATENCY_MS + random.next() * 10;
    if (happens('reorder')) atMs += random.next() * chosen.reorderSeconds * SECOND_MS;
    if (happens('delay')) atMs += random.next() * chosen.delayHours * HOUR_MS;
    atMs = arrival(atMs);
    deliver(event, atMs, random.chance(togetherness));
    if (happens('simultaneous')) deliver(event, atMs, true);
    while (happens('duplicate'))
      deliver(event, arrival(atMs + random.next() * 2 * HOUR_MS), random.chance(togetherness));
    if (happens('loseAnswer')) deliver(event, arrival(atMs + random.pick(BACK_OFF_MS)));
  }

  const deliveries = steps.length;
  for (const step of links(events, happens, random)) steps.push(step);
  steps.sort((one, other) => one.atMs - other.atMs);
  return {
    steps: withKeeper(steps, happens, (atMs) => !isWithin(noApi, atMs)),
    deliveries,
    counts,
  };
}

/** When each customer's team is linked: before, between or after its events. */
function links(
  events: readonly Deliverable[],
  happens: (name: FaultName) => boolean,
  random: Random,
): Step[] {
  const timesMs = new Map<string, number[]>();
  for (const { customerId, atMs } of events) {
    timesMs.set(customerId, [...(timesMs.get(customerId) ?? []), atMs]);
  }
  return [...timesMs].map(([customerId, times]) => {
    const late = random.chance(0.3) ? Math.max(...times) + HOUR_MS : random.pick(times) + 100;
    return { kind: 'link', atMs: happens('linkLate') ? late : 0, customerId };
  });
}

/** Gives the keeper its turns. An answer of the API may take until after some more deliveries. */
function withKeeper(
  steps: readonly Step[],
  happens: (name: FaultName) => boolean,
  hasApiAt: (atMs: number) => boolean,
): Step[] {
  let isAsking = false;
  return steps.flatMap((step): Step[] => {
    const { atMs } = step;
    if (!happens('keeper')) return [step];
    const hasApi = hasApiAt(atMs);
    const turn: Step[] = isAsking
      ? [{ kind: 'answer', atMs }]
      : [
          { kind: 'repair', atMs, hasApi },
          { kind: 'ask', atMs, hasApi },
        ];
    isAsking = !isAsking;
    return [step, ...turn];
  });
}

function isWithin({ fromMs, untilMs }: Window, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

/** Some rounds go without some faults, and some reorder without bound. */
function choose(faults: Faults, random: Random): Faults {
  const chosen = { ...faults };
  for (const name of ['duplicate', 'reorder', 'delay', 'lose', 'loseAnswer', 'keeper'] as const) {
    const share = random.pick([0, 0.5, 1, 1, 2]);
    chosen[name] = Math.min(faults[name] * share, MAX_PROBABILITY);
  }
  if (random.chance(0.2)) chosen.reorderSeconds = 1_000 * faults.reorderSeconds;
  return chosen;
}
