// What happens in the demo, and in the screenshots: invented companies, and the walkthrough's events.

import type { Ingest, LogEvent } from 'instep-engine/log';
import { addTeam, type Query } from 'instep-engine/postgres';
import { NO_PLAN, type Plan } from 'instep-engine/rule';
import { parseEvent } from 'instep-engine/stripe';
import type { ApiCollection } from '../../testing/fake-stripe-api.ts';
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

/** What happens to a subscription: its status, and how far up the products it is. Then the company subscribes again. */
const LIFE = [
  ['trialing', 0],
  ['active', 0],
  ['active', 1],
  ['past_due', 1],
  ['active', 1],
  ['active', 2],
  ['past_due', 2],
  ['unpaid', 2],
  ['active', 2],
  ['canceled', 2],
] as const;

const PRODUCTS = ['prod_starter', 'prod_base', 'prod_plus', 'prod_pro', 'prod_team'];

export const PRODUCT_NAMES = {
  prod_starter: 'Starter',
  prod_pro: 'Pro',
  prod_base: 'Base',
  prod_plus: 'Plus',
  prod_team: 'Team',
};

/** How many events each company has, more and more often. */
const EVENTS_EACH = 40;
const HISTORY_MS = 3 * 60 * 60 * 1_000;

type HistoryOptions = {
  query: Query;
  ingest: Ingest;
  /** The subscriptions that the stand-in for Stripe's API returns. */
  subscriptions: ApiCollection;
  /** When the history ends, in milliseconds since 1970. */
  endMs: number;
};

/** Adds invented companies with a team and three hours of history each. */
export async function addCompanies(options: HistoryOptions): Promise<void> {
  const { query, ingest, subscriptions, endMs } = options;
  for (const [index, name] of COMPANIES.entries()) {
    await addTeam(query, { name, customerId: `cus_${index + 1}` });
  }
  for (let round = 0; round < EVENTS_EACH; round += 1) {
    const events = COMPANIES.map((_, index) => {
      // Not all are at the same point of their lives.
      const step = round + index;
      const [status, product] = LIFE[step % LIFE.length] ?? LIFE[0];
      const life = Math.floor(step / LIFE.length);
      const left = 1 - (round + index / COMPANIES.length) / EVENTS_EACH;
      return createSubscriptionEvent({
        customerId: `cus_${index + 1}`,
        subscriptionId: `sub_${index + 1}_${life + 1}`,
        productId: PRODUCTS[(index + life + product) % PRODUCTS.length],
        status,
        createdSeconds: Math.floor((endMs - left ** 2 * HISTORY_MS) / 1_000),
      });
    });
    for (const { data } of events) subscriptions.set(data.object);
    await ingest(events.map(received));
  }
}

/** An event of the past, received when it happened. */
function received(event: SubscriptionEvent): LogEvent {
  const receivedAtMs = event.created * 1_000;
  const body = JSON.stringify(event);
  const parsed = parseEvent(body, { receivedAtMs, nonce: () => '' });
  if (parsed.kind !== 'readable') throw new RangeError(`an event of the history is ${parsed.kind}`);
  return { ...parsed, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
}

/** One event of the walkthrough, with a title that says what to look for. */
type Scene = {
  title: string;
  event: SubscriptionEvent;
  /** Signed with a secret that the server doesn't have. */
  isForged?: true;
};

/** The lifecycle of a subscription, with the delivery faults of real networks. */
export function walkthrough(startSeconds: number): Scene[] {
  const event = (
    number: number,
    secondsLater: number,
    fields: Partial<SubscriptionEventFields> = {},
  ): SubscriptionEvent =>
    createSubscriptionEvent({
      customerId: 'cus_ada',
      subscriptionId: 'sub_ada',
      productId: 'prod_starter',
      eventId: `evt_ada_${number}`,
      createdSeconds: startSeconds + secondsLater,
      ...fields,
    });

  const payment = event(2, 20);
  const unknown = { customerId: 'cus_unknown', subscriptionId: 'sub_unknown' };
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
export function starterPlan(plan: Plan, { data: { object } }: SubscriptionEvent): Plan {
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
    .flatMap(({ event, isForged }) => (isForged ? [] : [event]))
    .sort((one, other) => one.created - other.created);
}
