import { setTimeout as sleep } from 'node:timers/promises';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import type { Query } from '../../postgres/database.ts';
import { addTeam } from '../../queries/teams.ts';
import { parseEvent } from '../../stripe/parse-event.ts';
import {
  type EndlessDelivery,
  inOrder,
  liveEndlessly,
} from '../../testing/lifecycle/endless-deliveries.ts';
import { DEFAULT_FAULTS, type Faults } from '../../testing/lifecycle/faults.ts';
import type { Shape } from '../../testing/lifecycle/shapes.ts';
import type { Clock } from '../../testing/lifecycle/time-scale.ts';
import { createRandom } from '../../testing/random.ts';
import type { Collection } from '../../testing/stripe-api/collection.ts';
import { COMPANIES, COMPANY_WITH_LOST_EVENT } from './companies.ts';
import { lostPayment } from './walkthrough.ts';

export type LifeOptions = {
  readonly query: Query;
  readonly ingest: Ingest;
  /** What the stand-in for Stripe says of the subscriptions. */
  readonly subscriptions: Collection;
  /** Keeps the customers of several demonstrations on one database apart. */
  readonly suffix: string;
  /** Everything follows from it, and from when it begins. */
  readonly seed: number;
  /** When the history ends, and life goes on; in milliseconds since 1970. */
  readonly startMs: number;
};

/** Companies that go on living. */
export type Life = {
  /** Delivers what happens from now on, each event when it is due, until the signal says stop. */
  goOn(options: GoOnOptions): Promise<void>;
};

export type GoOnOptions = {
  /** Delivers an event as Stripe does, and says whether it was answered 200. */
  readonly deliver: (body: string) => Promise<boolean>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal;
};

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** How long there was life before the demonstration. */
const HISTORY_MS = 3 * HOUR_MS;

/** How long a day takes, in the history and from then on: some events a minute, one or two a second. */
const DAY_IN_HISTORY_MS = 30_000;
const DAY_FROM_NOW_ON_MS = 4_000;

const HISTORY_DAYS_MS = (HISTORY_MS / DAY_IN_HISTORY_MS) * DAY_MS;

/** So many events of the history share a transaction. */
const BATCH = 200;

const RETRY_AFTER_MS = 1_000;

/** Events come late, twice or after a failure; but for that the network does its work. */
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
  keeper: 0,
};

const SHAPES: readonly Shape[] = ['classic', 'price', 'basil'];

/** Gives companies a team each, and the history that they have until now. */
export async function beginLife(options: LifeOptions): Promise<Life> {
  const { query, ingest, subscriptions, suffix, startMs } = options;
  const random = createRandom(options.seed);
  const clock = paceAround(startMs);
  const lives = [];
  for (const [index, name] of COMPANIES.entries()) {
    const customerId = `cus_${suffix}_${index + 1}`;
    await addTeam(query, { name, customerId });
    // They become customers one after the other.
    const beginsMs = startMs - HISTORY_DAYS_MS * (1 - index / (2 * COMPANIES.length));
    const shape = random.pick(SHAPES);
    const life = { customerId, startMs: beginsMs, clock, shape, faults: FAULTS };
    lives.push(liveEndlessly(life, random));
  }

  await losePayment(options);
  const deliveries = inOrder(lives);
  const past: EndlessDelivery[] = [];
  let next = deliveries.next().value;
  for (; next.atMs <= startMs; next = deliveries.next().value) past.push(next);
  for (let first = 0; first < past.length; first += BATCH) {
    const batch = past.slice(first, first + BATCH);
    for (const { subscription } of batch) subscriptions.set(subscription);
    await ingest(batch.map(toReceived));
  }

  return {
    async goOn({ deliver, now, signal }) {
      for (; ; next = deliveries.next().value) {
        if (!(await waited(next.atMs - now(), signal))) return;
        subscriptions.set(next.subscription);
        while (!(await deliver(next.body))) if (!(await waited(RETRY_AFTER_MS, signal))) return;
      }
    },
  };
}

/** The last company's payment is known to Stripe, and its event never came. */
async function losePayment({ query, ingest, subscriptions, suffix, startMs }: LifeOptions) {
  const customerId = `cus_${suffix}_lost`;
  await addTeam(query, { name: COMPANY_WITH_LOST_EVENT, customerId });
  const beganAtMs = startMs - HISTORY_MS;
  const { trial, payment } = lostPayment(customerId, Math.floor(beganAtMs / 1_000));
  subscriptions.set(payment.data.object);
  await ingest([toReceived({ body: JSON.stringify(trial), atMs: beganAtMs })]);
}

/** A day is short in the history, and shorter from then on. */
function paceAround(startMs: number): Clock {
  return (atMs) => {
    const dayMs = atMs < startMs ? DAY_IN_HISTORY_MS : DAY_FROM_NOW_ON_MS;
    return Math.floor(startMs + ((atMs - startMs) / DAY_MS) * dayMs);
  };
}

type Received = Pick<EndlessDelivery, 'body' | 'atMs'>;

/** The history comes to the one door with the time at which it would have been received. */
function toReceived({ body, atMs: receivedAtMs }: Received): ReceivedEvent {
  const event = parseEvent(body, { receivedAtMs, nonce: () => '' });
  if (event.kind !== 'readable') throw new RangeError(`the history is ${event.kind}`);
  return { ...event, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
}

/** Whether nobody said stop meanwhile. */
async function waited(delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(Math.max(0, delayMs), undefined, { signal });
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
