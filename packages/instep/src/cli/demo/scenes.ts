import { NO_PLAN, type TeamPlan } from '../../core/transition.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import type { Query } from '../../postgres/database.ts';
import { addTeam, readTeam, writePlans } from '../../postgres/statements/teams.ts';
import { pause } from '../../runtime/retry.ts';
import { parseEvent } from '../../stripe/parse-event.ts';
import type { ApiCollection } from '../../testing/api-collection.ts';
import {
  createSubscriptionEvent,
  type SubscriptionEvent,
  type SubscriptionEventFields,
} from '../../testing/stripe-objects.ts';

const COMPANIES =
  `Almond & Birch, Bluebell Bakery, Candlewick Books, Dovetail Joinery, Elderflower Inn, Ferryman Kayaks,
  Gable & Thatch, Hazelnut Press, Inkwell Stationers, Juniper Dental, Kestrel Maps, Lantern Theatre,
  Marzipan & Sons, Nightingale Radio, Oakum Ropes, Pepperpot Kitchen, Quillfeather Law, Ravenglass Optics,
  Saffron Tailors, Thimble Repairs, Umbrella Weather, Velvet Upholstery, Windfall Orchards,
  Xylophone School, Yarrow Gardens, Zephyr Bicycles, Amberlight Studio, Brambleside Farm,
  Copperkettle Tea, Harbour Lanterns`.split(/,\s+/);

type ActivityOptions = {
  query: Query;
  ingest: Ingest;
  /** The subscriptions that the stand-in for Stripe's API returns. */
  subscriptions: ApiCollection;
  /** Makes the customer ids of one demo unique in its database. */
  suffix: string;
  /** When the history ends and live activity begins, in milliseconds since 1970. */
  startMs: number;
};

type LiveOptions = {
  /** Delivers an event as Stripe does. Returns whether the response was 200. */
  deliver: (body: string) => Promise<boolean>;
  now: () => number;
  signal: AbortSignal;
};

/** What happens to a subscription, and after how many days. */
const LIFE = [
  { day: 0, status: 'trialing', product: 0 },
  { day: 14, status: 'active', product: 0 },
  { day: 31, status: 'active', product: 1 },
  { day: 45, status: 'past_due', product: 1 },
  { day: 48, status: 'active', product: 1 },
  { day: 62, status: 'active', product: 2 },
  { day: 76, status: 'past_due', product: 2 },
  { day: 83, status: 'unpaid', product: 2 },
  { day: 85, status: 'active', product: 2 },
  { day: 100, status: 'canceled', product: 2 },
] as const;

/** Then the company subscribes again. */
const LIFE_DAYS = 120;

const PRODUCTS = ['prod_starter', 'prod_base', 'prod_plus', 'prod_pro', 'prod_team'];

/** Every so many events, one arrives late or twice. */
const LATE_EVERY = 13;
const TWICE_EVERY = 24;
const LATE_DAYS = 2.5;

const HISTORY_MS = 3 * 60 * 60 * 1_000;

/** The duration of one day of a company: some events per minute in the history, then one per second. */
const HISTORY_DAY_MS = 30_000;
const LIVE_DAY_MS = 2_500;

const HISTORY_DAYS = HISTORY_MS / HISTORY_DAY_MS;

const HISTORY_BATCH = 200;
const RETRY_AFTER_MS = 1_000;

/** An event, the time of its delivery, and the subscription as Stripe's API returns it then. */
type Delivery = {
  atMs: number;
  body: string;
  subscription: SubscriptionEvent['data']['object'];
};

/**
 * Adds invented companies with a team and three hours of history each. Returns a function that
 * delivers their further events, each when it is due, until the signal is aborted.
 */
export async function createActivity(
  options: ActivityOptions,
): Promise<(live: LiveOptions) => Promise<void>> {
  const { query, ingest, subscriptions, suffix, startMs } = options;
  const companies = [];
  for (const [index, name] of COMPANIES.entries()) {
    const customerId = `cus_${suffix}_${index + 1}`;
    await addTeam(query, { name, customerId });
    companies.push(deliveriesOf(customerId, index, startMs));
  }

  const deliveries = inOrder(companies);
  const past: Delivery[] = [];
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

/** The deliveries of a company that always subscribes again, in the order of their times. */
function* deliveriesOf(
  customerId: string,
  index: number,
  startMs: number,
): Generator<Delivery, never> {
  // The companies subscribe one after the other, and not all at the same pace.
  const firstDay = (HISTORY_DAYS * index) / (2 * COMPANIES.length) - HISTORY_DAYS;
  const pace = 0.8 + (index % 5) / 10;
  const timeOf = (day: number) =>
    startMs + Math.floor(day * (day < 0 ? HISTORY_DAY_MS : LIVE_DAY_MS));
  for (let round = 0; ; round += 1) {
    const events = LIFE.map(({ day, status, product }) => {
      const onDay = firstDay + (round * LIFE_DAYS + day) * pace;
      const event = createSubscriptionEvent({
        customerId,
        subscriptionId: `${customerId.replace('cus', 'sub')}_${round + 1}`,
        productId: PRODUCTS[(index + round + product) % PRODUCTS.length],
        status,
        createdSeconds: Math.floor(timeOf(onDay) / 1_000),
      });
      return { onDay, event };
    });
    const deliveries = events.flatMap(({ onDay, event }, position) => {
      const number = index + round * LIFE.length + position;
      const late = { event, atMs: timeOf(onDay + LATE_DAYS) };
      const inTime = { event, atMs: timeOf(onDay) };
      if (number % LATE_EVERY === 0) return [late];
      return number % TWICE_EVERY === 0 ? [inTime, late] : [inTime];
    });
    for (const { event, atMs } of deliveries.sort((one, other) => one.atMs - other.atMs)) {
      const isPast = (one: (typeof events)[number]) => one.event.created * 1_000 <= atMs;
      const newest = events.findLast(isPast)?.event ?? event;
      yield { atMs, body: JSON.stringify(event), subscription: newest.data.object };
    }
  }
}

/** Merges the deliveries of several companies, in the order of their times. */
function* inOrder(companies: readonly Generator<Delivery, never>[]): Generator<Delivery, never> {
  const next = companies.map((deliveries) => ({ deliveries, delivery: deliveries.next().value }));
  for (;;) {
    const first = next.reduce((one, other) =>
      other.delivery.atMs < one.delivery.atMs ? other : one,
    );
    yield first.delivery;
    first.delivery = first.deliveries.next().value;
  }
}

/** An event of the past, with the time at which it would have been received. */
function received(body: string, receivedAtMs: number): ReceivedEvent {
  const event = parseEvent(body, { receivedAtMs, nonce: () => '' });
  if (event.kind !== 'readable') throw new RangeError(`an event of the history is ${event.kind}`);
  return { ...event, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
}

/** Waits. Returns false if the signal is aborted first. */
async function waited(delayMs: number, signal: AbortSignal): Promise<boolean> {
  await pause(Math.max(0, delayMs), { signal });
  return !signal.aborted;
}

/** The guided cases: each is a company with a problem, and how to solve it in the console. */
export const GUIDED_CASES = [
  'Paid but no plan: Driftwood Couriers. Click Attention, and link the parked customer to it.',
  'Late cancellation: Foxglove Legal has left, but still has Pro. Click Reconcile, then start a dry run.',
  'Changed by hand: Moonraker Sails has Pro, but pays for Starter. Click Attention, then Repair.',
] as const;

const MINUTE_MS = 60_000;

/** Adds the companies of the guided cases, and one that lost Pro because its payments failed. */
export async function createCases(options: ActivityOptions): Promise<void> {
  const { query, ingest, subscriptions, suffix, startMs } = options;

  const eventsOf = (name: string) => {
    const ids = { customerId: `cus_${suffix}_${name}`, subscriptionId: `sub_${suffix}_${name}` };
    return (minutesAgo: number, fields: Partial<SubscriptionEventFields>): SubscriptionEvent => {
      const createdSeconds = Math.floor((startMs - minutesAgo * MINUTE_MS) / 1_000);
      const event = createSubscriptionEvent({ ...ids, createdSeconds, ...fields });
      subscriptions.set(event.data.object);
      return event;
    };
  };
  const deliver = async (event: SubscriptionEvent) => {
    await ingest([received(JSON.stringify(event), event.created * 1_000)]);
  };

  // The app has not stored the customer.
  await addTeam(query, { name: 'Driftwood Couriers', customerId: null });
  await deliver(eventsOf('driftwood')(40, { productId: 'prod_pro' }));

  // The cancellation event has not arrived.
  const foxglove = eventsOf('foxglove');
  await addTeam(query, { name: 'Foxglove Legal', customerId: `cus_${suffix}_foxglove` });
  await deliver(foxglove(170, { productId: 'prod_pro' }));
  foxglove(50, { productId: 'prod_pro', status: 'canceled' });

  const customerId = `cus_${suffix}_moonraker`;
  const teamId = await addTeam(query, { name: 'Moonraker Sails', customerId });
  await deliver(eventsOf('moonraker')(160, { productId: 'prod_starter' }));
  const team = await readTeam(query, teamId);
  if (team === null) throw new RangeError(`team ${teamId} is gone`);
  const byHand = { ...team.plan, providerProductId: 'prod_pro', planName: 'Pro' };
  await writePlans(query, [{ team, shouldBe: byHand, reason: { cause: 'app' } }]);

  const larkspur = eventsOf('larkspur');
  await addTeam(query, { name: 'Larkspur Dyes', customerId: `cus_${suffix}_larkspur` });
  await deliver(larkspur(150, { productId: 'prod_pro' }));
  await deliver(larkspur(30, { productId: 'prod_pro', status: 'unpaid' }));
}

/** The products of the demo. */
export const PRODUCT_NAMES = {
  prod_starter: 'Starter',
  prod_pro: 'Pro',
  prod_base: 'Base',
  prod_plus: 'Plus',
  prod_team: 'Team',
};

/** One event of the walkthrough, with a title that says what to look for. */
type Scene = {
  title: string;
  event: SubscriptionEvent;
  /** Signed with a secret that the server doesn't have. */
  isForged?: true;
};

/** The lifecycle of a subscription, with the delivery faults of real networks. */
export function walkthrough(suffix: string, startSeconds: number): Scene[] {
  const event = (
    number: number,
    secondsLater: number,
    fields: Partial<SubscriptionEventFields> = {},
  ): SubscriptionEvent =>
    createSubscriptionEvent({
      customerId: `cus_${suffix}`,
      subscriptionId: `sub_${suffix}`,
      productId: 'prod_starter',
      eventId: `evt_${suffix}_${number}`,
      createdSeconds: startSeconds + secondsLater,
      ...fields,
    });

  const payment = event(2, 20);
  const unknown = { customerId: `cus_unknown${suffix}`, subscriptionId: `sub_unknown${suffix}` };
  return [
    { title: 'A trial begins', event: event(1, 10, { status: 'trialing' }) },
    { title: 'The customer pays', event: payment },
    {
      title: 'A payment fails: past_due changes nothing',
      event: event(3, 30, { status: 'past_due' }),
    },
    { title: 'The plan changes', event: event(4, 40, { productId: 'prod_pro' }) },
    { title: 'A late duplicate of the second event', event: payment },
    { title: 'An older event that was delayed', event: event(5, 15, { status: 'unpaid' }) },
    {
      title: 'The customer cancels',
      event: event(6, 60, { status: 'canceled', productId: 'prod_pro' }),
    },
    { title: 'An event for a customer without a team', event: event(7, 70, unknown) },
    { title: 'A forged signature', event: event(8, 80), isForged: true },
  ];
}

/**
 * The team's plan as the webhook handler of nextjs/saas-starter writes it. The event that arrives last decides, and no event
 * holds the name of its product, so the name stays as the checkout wrote it.
 */
export function starterPlan(plan: TeamPlan, { data: { object } }: SubscriptionEvent): TeamPlan {
  const subscriptionStatus = object.status;
  switch (subscriptionStatus) {
    case 'active':
    case 'trialing': {
      const providerProductId = object.items.data[0]?.plan.product ?? null;
      return { ...plan, providerSubscriptionId: object.id, providerProductId, subscriptionStatus };
    }
    case 'canceled':
    case 'unpaid':
      return { ...NO_PLAN, subscriptionStatus };
    default:
      return plan;
  }
}

/** The genuine events in the order in which they happened. */
export function inTrueOrder(scenes: readonly Scene[]): SubscriptionEvent[] {
  return scenes
    .filter(({ isForged }) => !isForged)
    .map(({ event }) => event)
    .sort((one, other) => one.created - other.created);
}
