import { createSubscriptionEvent } from 'instep/testing';
import { foldAll, type Plan, type PlanSelection, type SubscriptionEvent } from 'instep-engine/rule';
import { compare } from 'instep-engine/src/repair/reconcile/drift.ts';
import {
  type ListedSubscription,
  parseListedSubscription,
} from 'instep-engine/src/stripe/subscription-snapshot.ts';
import { describe, expect, test } from 'vitest';
import { NO_PLAN } from '../../support/service/contract-service.ts';
import { received } from '../../support/stripe/events.ts';

const AS_OF = 1_000_000;
const NAMES = new Map([
  ['prod_pro', 'Pro'],
  ['prod_base', 'Base'],
]);

type Listed = Partial<Pick<ListedSubscription, 'productId' | 'endedSeconds' | 'asOfSeconds'>>;

/** A subscription as Stripe lists it. */
function listed(
  subscriptionId: string,
  status: string,
  {
    productId,
    endedSeconds = status === 'canceled' ? 500 : null,
    asOfSeconds = AS_OF,
  }: Listed = {},
): ListedSubscription {
  const fields = { customerId: 'cus_1', subscriptionId, status };
  const event = createSubscriptionEvent({ ...fields, productId: productId ?? 'prod_pro' });
  const object = { ...event.data.object, created: 10, ended_at: endedSeconds };
  const found = parseListedSubscription(object, asOfSeconds);
  if (found === null) throw new RangeError('the list has a subscription that can not be read');
  return found;
}

/** An event that is known of a subscription. */
function known(
  subscriptionId: string,
  status: string,
  createdSeconds: number,
  productId = 'prod_pro',
): SubscriptionEvent {
  const fields = { customerId: 'cus_1', subscriptionId, status, productId, createdSeconds };
  return readable(createSubscriptionEvent(fields));
}

function readable(event: object): SubscriptionEvent {
  const parsed = received(JSON.stringify(event));
  if (parsed.kind === 'unreadable') throw new RangeError(parsed.problem);
  return parsed;
}

const PRO = (subscriptionId: string, subscriptionStatus = 'active'): Plan => ({
  providerSubscriptionId: subscriptionId,
  providerProductId: 'prod_pro',
  planName: 'Pro',
  subscriptionStatus,
});

const cleared = (subscriptionStatus: string): Plan => ({ ...NO_PLAN, subscriptionStatus });

type Given = {
  readonly plan?: Plan;
  readonly knows?: readonly SubscriptionEvent[];
  readonly lists: readonly ListedSubscription[];
  readonly planSelection?: PlanSelection;
  readonly nowSeconds?: number;
};

function compareWith({
  plan = NO_PLAN,
  knows = [],
  lists,
  planSelection = 'newest',
  ...at
}: Given) {
  const team = { id: 1, customerId: 'cus_1', plan };
  const state = foldAll(knows);
  const nowMs = (at.nowSeconds ?? AS_OF) * 1_000;
  const customer = { teams: [team], state, listed: lists };
  return compare(customer, { planSelection, names: NAMES, nowMs });
}

const NOTHING = { drifts: [], missed: [] };

/** The subscriptions of the snapshots, and the seconds that they are dated to. */
const snapshotsOf = ({ missed }: ReturnType<typeof compareWith>) =>
  missed.map(({ listed: { subscriptionId }, seconds }) => [subscriptionId, seconds]);

test("a team that matches Stripe's subscriptions has not drifted", () => {
  const lists = [listed('sub_1', 'active')];
  expect(
    compareWith({ plan: PRO('sub_1'), knows: [known('sub_1', 'active', 100)], lists }),
  ).toMatchObject(NOTHING);
});

test('a team without any known subscription has not drifted', () => {
  expect(compareWith({ lists: [] })).toMatchObject(NOTHING);
  expect(compareWith({ lists: [listed('sub_1', 'incomplete')] })).toMatchObject(NOTHING);
});

describe('a missed event', () => {
  test('that ended a subscription counts from its end', () => {
    const found = compareWith({
      plan: PRO('sub_1'),
      knows: [known('sub_1', 'active', 100)],
      lists: [listed('sub_1', 'canceled', { endedSeconds: 500 })],
    });
    expect(found.drifts).toMatchObject([
      {
        cause: 'missed event',
        shouldBe: cleared('canceled'),
        subscriptionIds: ['sub_1'],
        sinceSeconds: 500,
      },
    ]);
    expect(snapshotsOf(found)).toEqual([['sub_1', 500]]);
  });

  test('of a live subscription counts from the listing, and began after our last event', () => {
    const found = compareWith({
      plan: PRO('sub_1'),
      knows: [known('sub_1', 'active', 100)],
      lists: [listed('sub_1', 'active', { productId: 'prod_base' })],
    });
    expect(found.drifts).toMatchObject([
      {
        cause: 'missed event',
        shouldBe: { providerProductId: 'prod_base', planName: 'Base' },
        sinceSeconds: 100,
      },
    ]);
    expect(snapshotsOf(found)).toEqual([['sub_1', AS_OF]]);
  });

  test('does not count when the listing is so old that an event of the next day is newer', () => {
    const day = 24 * 60 * 60;
    const knows = [known('sub_1', 'canceled', AS_OF + day + 1)];
    const compared = { plan: cleared('canceled'), knows, lists: [listed('sub_1', 'active')] };
    expect(compareWith({ ...compared, nowSeconds: AS_OF + day + 2 })).toMatchObject(NOTHING);
    expect(compareWith({ ...compared, nowSeconds: AS_OF })).not.toMatchObject(NOTHING);
  });

  test('with a status without effect is not detected', () => {
    const lists = [listed('sub_1', 'past_due', { productId: 'prod_base' })];
    expect(
      compareWith({ plan: PRO('sub_1'), knows: [known('sub_1', 'active', 100)], lists }),
    ).toMatchObject(NOTHING);
  });
});

describe('a subscription that was never seen', () => {
  test('is ignored when it ended before', () => {
    const lists = [listed('sub_old', 'canceled', { endedSeconds: 50 }), listed('sub_1', 'active')];
    expect(
      compareWith({ plan: PRO('sub_1'), knows: [known('sub_1', 'active', 100)], lists }),
    ).toMatchObject(NOTHING);
  });

  test('must be known when it is live, even if the team has a better one', () => {
    const lists = [listed('sub_2', 'trialing'), listed('sub_1', 'active')];
    const knows = [known('sub_1', 'active', 100)];
    const found = compareWith({ plan: PRO('sub_1'), knows, lists, planSelection: 'best' });
    expect(found.drifts).toEqual([]);
    expect(snapshotsOf(found).map(([id]) => id)).toContain('sub_2');
  });
});

describe('a team keeps the plan that it pays for', () => {
  const live = known('sub_new', 'active', 700);

  test('when the end of an old subscription was missed', () => {
    const found = compareWith({
      plan: PRO('sub_new'),
      knows: [known('sub_old', 'active', 100), live],
      lists: [listed('sub_new', 'active'), listed('sub_old', 'canceled', { endedSeconds: 500 })],
    });
    // Its end is stored, so that the team never falls back to it.
    expect(found.drifts).toEqual([]);
    expect(snapshotsOf(found)).toEqual([['sub_old', 500]]);
  });

  test.each(['newest', 'best'] as const)(
    'when another subscription is unpaid now: %s',
    (planSelection) => {
      const found = compareWith({
        plan: PRO('sub_new'),
        knows: [known('sub_old', 'active', 800), live],
        lists: [
          listed('sub_new', 'active', { asOfSeconds: AS_OF - 60 }),
          listed('sub_old', 'unpaid'),
        ],
        planSelection,
      });
      expect(found.drifts).toEqual([]);
      // Nothing shows which of them changed last, so both are dated to the same second.
      expect(snapshotsOf(found)).toEqual([
        ['sub_old', AS_OF - 60],
        ['sub_new', AS_OF - 60],
      ]);
    },
  );
});

describe('a team that was changed by hand', () => {
  test('has not drifted when only the name differs, and the right one is unknown', () => {
    const knows = [known('sub_1', 'active', 100, 'prod_nameless')];
    const plan = { ...PRO('sub_1'), providerProductId: 'prod_nameless' };
    const lists = [listed('sub_1', 'active', { productId: 'prod_nameless' })];
    expect(compareWith({ plan, knows, lists })).toMatchObject(NOTHING);
  });
});

test('compares the name where an old API version has no product', () => {
  const event = createSubscriptionEvent({
    ...{ customerId: 'cus_1', subscriptionId: 'sub_1', createdSeconds: 100 },
  });
  const items = { data: [{ plan: { id: 'plan_1', name: 'Pro' } }] };
  const knows = [readable({ ...event, data: { object: { ...event.data.object, items } } })];
  const plan = { ...PRO('sub_1'), providerProductId: null };
  expect(compareWith({ plan, knows, lists: [listed('sub_1', 'active')] })).toMatchObject(NOTHING);
  const lists = [listed('sub_1', 'active', { productId: 'prod_base' })];
  expect(compareWith({ plan, knows, lists })).toMatchObject({
    drifts: [{ shouldBe: { planName: 'Base' } }],
  });
});
