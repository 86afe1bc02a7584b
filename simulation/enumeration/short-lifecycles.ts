import {
  type CustomerLife,
  type Moment,
  PRODUCTS,
  type Status,
  type Subscription,
} from '../../src/testing/lifecycle/subscription.ts';

const CUSTOMER_ID = 'cus_short';
const START_SECONDS = Date.UTC(2025, 0, 1) / 1_000;

type Changes = Readonly<Partial<Record<Status, readonly Status[]>>>;

/** What may come after what. The same status again is a change of the plan. */
const CHANGES = {
  full: {
    incomplete: ['active'],
    trialing: ['trialing', 'active', 'past_due', 'canceled'],
    active: ['active', 'past_due', 'canceled'],
    past_due: ['active', 'unpaid', 'canceled'],
    unpaid: ['active', 'canceled'],
  },
  small: {
    incomplete: ['active'],
    active: ['past_due', 'canceled'],
    past_due: ['active', 'canceled'],
  },
} as const satisfies Readonly<Record<string, Changes>>;

/** `small` has one status of each effect, so that longer lives can be enumerated too. */
export type Alphabet = keyof typeof CHANGES;

/**
 * Every life of this many events: two subscriptions, what may come next by the status, in the same
 * second or in the next one.
 */
export function* shortLives(length: number, alphabet: Alphabet): Generator<CustomerLife> {
  const first = alphabet === 'full' ? 'trialing' : 'incomplete';
  const begun = new Map([begin('sub_1', first), begin('sub_2', 'incomplete')]);
  const life = { customerId: CUSTOMER_ID, begun, moments: [] };
  yield* continueLife(life, CHANGES[alphabet], length);
}

function* continueLife(
  life: CustomerLife,
  changes: Changes,
  more: number,
): Generator<CustomerLife> {
  if (more === 0) {
    yield life;
    return;
  }
  for (const moment of nextMoments(life, changes)) {
    yield* continueLife({ ...life, moments: [...life.moments, moment] }, changes, more - 1);
  }
}

function nextMoments({ begun, moments }: CustomerLife, changes: Changes): Moment[] {
  const number = moments.length;
  const lastMs = moments.at(-1)?.atMs;
  // The gap before the first event makes no difference.
  const times = lastMs === undefined ? [START_SECONDS * 1_000] : [lastMs + 1, nextSecond(lastMs)];
  return [...begun.values()].flatMap((first) => {
    const last = moments.findLast(({ subscription }) => subscription.id === first.id);
    const before = last?.subscription ?? first;
    return (changes[before.status] ?? []).flatMap((status) =>
      times.map((atMs): Moment => {
        const subscription = { ...before, ...change(before, status) };
        return { number, atMs, subscription, isDeletion: status === 'canceled' };
      }),
    );
  });
}

function nextSecond(atMs: number): number {
  return (Math.floor(atMs / 1_000) + 1) * 1_000;
}

function change(before: Subscription, status: Status): Partial<Subscription> {
  const other = PRODUCTS.find(({ id }) => id !== before.product.id);
  return status === before.status && other !== undefined ? { product: other } : { status };
}

function begin(id: string, status: Status): readonly [string, Subscription] {
  const [product] = PRODUCTS;
  if (product === undefined) throw new RangeError('nothing is sold');
  return [
    id,
    {
      id,
      customerId: CUSTOMER_ID,
      status,
      product,
      quantity: 1,
      invoices: 1,
      paymentMethods: 0,
      startedAtSeconds: START_SECONDS,
      periodStartSeconds: START_SECONDS,
      periodEndSeconds: START_SECONDS,
      trialEndSeconds: null,
      cancelsAtPeriodEnd: false,
      isCollectionPaused: false,
      endedAtSeconds: null,
    },
  ];
}
