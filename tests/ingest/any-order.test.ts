import fc from 'fast-check';
import type { SubscriptionEventFields } from 'instep/testing';
import { foldAll, type PlanInRow, partOf, teamPlan } from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import type { LogEvent } from '../support/internals/ingest.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const CUSTOMERS = 3;
const PRODUCTS = ['prod_1', 'prod_2', 'prod_3'];

type Drawn = Pick<
  SubscriptionEventFields,
  'createdSeconds' | 'subscriptionId' | 'status' | 'productId'
> & {
  readonly customer: number;
};

const anyEvent: fc.Arbitrary<Drawn> = fc.record({
  createdSeconds: fc.nat({ max: 1_000 }),
  customer: fc.nat({ max: CUSTOMERS - 1 }),
  subscriptionId: fc.constantFrom('sub_1', 'sub_2', 'sub_3'),
  status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due', 'paused'),
  productId: fc.constantFrom(...PRODUCTS),
});

/** Events of different seconds, and an order of arrival in which some arrive more than once. */
const anyDelivery = fc
  .uniqueArray(anyEvent, { selector: (event) => event.createdSeconds, maxLength: 25 })
  .chain((events) => {
    const indices = events.map((_, index) => index);
    const repeated = fc.shuffledSubarray([...indices, ...indices], { minLength: indices.length });
    const rest = fc.shuffledSubarray(indices, { minLength: indices.length });
    return fc.record({
      events: fc.constant(events),
      order: fc.tuple(repeated, rest).map(([some, all]) => [...some, ...all]),
    });
  });

const nameOf = (productId: string) => `The plan of ${productId}`;

/** The result of the pure rule for a customer's events, in the order of Stripe's clock. */
function planAfterAll(events: readonly LogEvent[]): PlanInRow {
  const changes = events.flatMap((event) => (event.kind === 'readable' ? event : []));
  changes.sort((a, b) => a.subscription.createdSeconds - b.subscription.createdSeconds);
  const names = new Map(PRODUCTS.map((productId) => [productId, nameOf(productId)]));
  const plan = teamPlan(foldAll(changes), 'newest', names);
  return plan === null ? NO_PLAN : partOf(plan, NO_PLAN);
}

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  test('ends with the plan of the true order, in any order of arrival at two instances', async () => {
    const retrieve = async (productId: string) => nameOf(productId);
    const pipelines = [
      openPipeline(store.database, retrieve),
      openPipeline(store.openAnother(), retrieve),
    ];

    const property = fc.asyncProperty(anyDelivery, async ({ events, order }) => {
      const teams = await Promise.all(Array.from({ length: CUSTOMERS }, () => store.addTeam()));
      const received = events.map(({ customer, ...fields }) =>
        receivedEvent({ ...fields, customerId: teams[customer]?.customerId ?? '' }),
      );
      await Promise.all(
        order.map((index, turn) => pipelines[turn % 2]?.([received[index] as LogEvent])),
      );
      for (const { teamId, customerId } of teams) {
        const mine = received.filter(
          (event) => event.kind === 'readable' && event.subscription.customerId === customerId,
        );
        expect(await store.planOf(teamId)).toEqual(planAfterAll(mine));
        const log = await store.logOf(customerId);
        const delivered = order.filter((index) => mine.includes(received[index] as LogEvent));
        expect(log.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(delivered.length);
        expect(new Set(log.map((row) => row.event_id))).toEqual(
          new Set(mine.map(({ eventId }) => eventId)),
        );
      }
    });
    await fc.assert(property, { numRuns: repetitions(8, 25) });
  });
});
