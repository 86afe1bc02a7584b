import type { Ingest } from '../../ingest/pipeline.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import type { Query } from '../../postgres/database.ts';
import { addTeam } from '../../queries/teams.ts';
import { pause } from '../../runtime/pause.ts';
import { parseEvent } from '../../stripe/parse-event.ts';
import {
  type EndlessDelivery,
  endlessDeliveries,
  mergeInOrder,
} from '../../testing/lifecycle/endless-deliveries.ts';
import { DEFAULT_FAULTS, type Faults } from '../../testing/lifecycle/faults.ts';
import type { Shape } from '../../testing/lifecycle/shapes.ts';
import { createRandom } from '../../testing/random.ts';
import type { ApiCollection } from '../../testing/stripe-api/collection.ts';

const COMPANIES =
  `Almond & Birch, Bluebell Bakery, Candlewick Books, Dovetail Joinery, Elderflower Inn, Ferryman Kayaks,
  Gable & Thatch, Hazelnut Press, Inkwell Stationers, Juniper Dental, Kestrel Maps, Lantern Theatre,
  Marzipan & Sons, Nightingale Radio, Oakum Ropes, Pepperpot Kitchen, Quillfeather Law, Ravenglass Optics,
  Saffron Tailors, Thimble Repairs, Umbrella Weather, Velvet Upholstery, Windfall Orchards,
  Xylophone School, Yarrow Gardens, Zephyr Bicycles, Amberlight Studio, Brambleside Farm,
  Copperkettle Tea, Harbour Lanterns`.split(/,\s+/);

export type ActivityOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  /** The subscriptions that the stand-in for Stripe's API returns. */
  readonly subscriptions: ApiCollection;
  /** Makes the customer ids of one demo unique in its database. */
  readonly suffix: string;
  readonly seed: number;
  /** When the history ends and live activity begins, in milliseconds since 1970. */
  readonly startMs: number;
};

type LiveOptions = {
  /** Delivers an event as Stripe does. Returns whether the response was 200. */
  readonly deliver: (body: string) => Promise<boolean>;
  readonly now: () => number;
  readonly signal: AbortSignal;
};

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

const HISTORY_MS = 3 * HOUR_MS;

/** The duration of one simulated day: some events per minute in the history, then one or two per second. */
const HISTORY_DAY_MS = 30_000;
const LIVE_DAY_MS = 4_000;

const HISTORY_DAYS_MS = (HISTORY_MS / HISTORY_DAY_MS) * DAY_MS;

const HISTORY_BATCH = 200;
const RETRY_AFTER_MS = 1_000;

/** Some events arrive late, twice or after a failure. */
const FAULTS: Faults = {
  ...DEFAULT_FAULTS,
  duplicate: 0.04,
  reorder: 0,
  delay: 0.08,
  delayHours: 60,
  linkLate: 0,
  endpointOutage: 0,
  databaseOutage: 0,
  apiOutage: 0,
  noSnapshots: 0,
  maintenance: 0,
};

const SHAPES: readonly Shape[] = ['classic', 'price', 'basil'];

/**
 * Adds invented companies with a team and three hours of history each. Returns a function that
 * delivers their further events, each when it is due, until the signal is aborted.
 */
export async function createActivity(
  options: ActivityOptions,
): Promise<(live: LiveOptions) => Promise<void>> {
  const { query, ingest, subscriptions, suffix, startMs } = options;
  const random = createRandom(options.seed);
  const companies = [];
  for (const [index, name] of COMPANIES.entries()) {
    const customerId = `cus_${suffix}_${index + 1}`;
    await addTeam(query, { name, customerId });
    // The companies subscribe one after the other.
    const firstMs = startMs - HISTORY_DAYS_MS * (1 - index / (2 * COMPANIES.length));
    const timing = { startMs: firstMs, timeScale: timeScaleAround(startMs) };
    const company = { customerId, ...timing, shape: random.pick(SHAPES), faults: FAULTS };
    companies.push(endlessDeliveries(company, random));
  }

  const deliveries = mergeInOrder(companies);
  const past: EndlessDelivery[] = [];
  let next = deliveries.next().value;
  for (; next.atMs <= startMs; next = deliveries.next().value) past.push(next);
  for (let first = 0; first < past.length; first += HISTORY_BATCH) {
    const batch = past.slice(first, first + HISTORY_BATCH);
    for (const { subscription } of batch) subscriptions.set(subscription);
    await ingest(batch.map(({ body, atMs }) => received(body, atMs)));
  }

  return async ({ deliver, now, signal }) => {
    for (; ; next = deliveries.next().value) {
      if (!(await waited(next.atMs - now(), signal))) return;
      subscriptions.set(next.subscription);
      while (!(await deliver(next.body))) if (!(await waited(RETRY_AFTER_MS, signal))) return;
    }
  };
}

function timeScaleAround(startMs: number) {
  return (atMs: number) => {
    const dayMs = atMs < startMs ? HISTORY_DAY_MS : LIVE_DAY_MS;
    return Math.floor(startMs + ((atMs - startMs) / DAY_MS) * dayMs);
  };
}

/** An event of the past, with the time at which it would have been received. */
export function received(body: string, receivedAtMs: number): ReceivedEvent {
  const event = parseEvent(body, { receivedAtMs, nonce: () => '' });
  if (event.kind !== 'readable') throw new RangeError(`an event of the history is ${event.kind}`);
  return { ...event, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
}

/** Waits. Returns false if the signal is aborted first. */
async function waited(delayMs: number, signal: AbortSignal): Promise<boolean> {
  await pause(Math.max(0, delayMs), { signal });
  return !signal.aborted;
}
