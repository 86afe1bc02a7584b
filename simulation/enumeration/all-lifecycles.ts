import {
  type CustomerLifecycle,
  type LifecycleChange,
  PRODUCTS,
  type Status,
  type Subscription,
} from '../lifecycle/subscription.ts';

const CUSTOMER_ID = 'cus_1';
const START_SECONDS = Date.UTC(2025, 0, 1) / 1_000;

type NextStatuses = Readonly<Partial<Record<Status, readonly Status[]>>>;

/** The statuses that can follow each status. The same status means a change of the plan. */
const ALL: Required<NextStatuses> = {
  incomplete: ['active'],
  trialing: ['trialing', 'active', 'past_due', 'canceled'],
  active: ['active', 'past_due', 'canceled'],
  past_due: ['active', 'unpaid', 'canceled'],
  unpaid: ['active', 'canceled'],
  paused: [],
  canceled: [],
  incomplete_expired: [],
};

const FEW: NextStatuses = {
  incomplete: ['active'],
  active: ['past_due', 'canceled'],
  past_due: ['active', 'canceled'],
};

const TRANSITIONS = { all: ALL, few: FEW };

/** With `few`, there is one status of each effect, so that longer lifecycles can be enumerated. */
export type TransitionSet = keyof typeof TRANSITIONS;

/**
 * Every lifecycle of two subscriptions with this many events. Each event is in the same second as the
 * one before it, or in the next one.
 */
export function allLifecycles(
  length: number,
  transitions: TransitionSet,
): Iterable<CustomerLifecycle> {
  const first = transitions === 'all' ? 'trialing' : 'incomplete';
  const initial = [initialState('sub_1', first), initialState('sub_2', 'incomplete')];
  const initialStates = new Map(initial.map((subscription) => [subscription.id, subscription]));
  const lifecycle = { customerId: CUSTOMER_ID, initialStates, changes: [] };
  return extend(lifecycle, TRANSITIONS[transitions], length);
}

function* extend(
  lifecycle: CustomerLifecycle,
  nextStatuses: NextStatuses,
  length: number,
): Generator<CustomerLifecycle> {
  const { changes } = lifecycle;
  if (changes.length === length) {
    yield lifecycle;
    return;
  }
  for (const change of nextChanges(lifecycle, nextStatuses)) {
    yield* extend({ ...lifecycle, changes: [...changes, change] }, nextStatuses, length);
  }
}

function nextChanges(
  { initialStates, changes }: CustomerLifecycle,
  nextStatuses: NextStatuses,
): LifecycleChange[] {
  const number = changes.length;
  const lastMs = changes.at(-1)?.atMs;
  // The gap before the first event makes no difference.
  const times = lastMs === undefined ? [START_SECONDS * 1_000] : [lastMs + 1, nextSecond(lastMs)];
  return [...initialStates.values()].flatMap((initial) => {
    const last = changes.findLast(({ subscription }) => subscription.id === initial.id);
    const before = last?.subscription ?? initial;
    return (nextStatuses[before.status] ?? []).flatMap((status) =>
      times.map((atMs): LifecycleChange => {
        const subscription = { ...before, ...change(before, status) };
        return { number, atMs, subscription };
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

function initialState(id: string, status: Status): Subscription {
  const [product] = PRODUCTS;
  if (product === undefined) throw new RangeError('there are no products');
  return {
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
  };
}
