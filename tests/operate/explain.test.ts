import fc from 'fast-check';
import { createLogger } from 'instep';
import { explainEvent, explainTeam } from 'instep/operate';
import { expect, test } from 'vitest';
import { createContext } from '../support/internals/operations.ts';
import { searchLog } from '../support/internals/repair.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { NO_PLAN } from '../support/service/contract-service.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const store = useDatabase(embeddedServer);

const anyEvent = fc.record({
  createdSeconds: fc.nat({ max: 3 }).map((second) => 1_700_000_000 + second),
  subscriptionId: fc.constantFrom('sub_1', 'sub_1', 'sub_2'),
  status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due'),
  productId: fc.constantFrom('prod_1', 'prod_2'),
  replaced: fc.option(fc.constantFrom('active', 'trialing', 'past_due')),
});

test('explains every event, with what it changed of the plan', async () => {
  const ingest = openPipeline(store.database, async (productId) => `The plan of ${productId}`);
  const { database } = store;
  const { query } = database;
  const context = createContext({
    ...{ database, planSelection: 'newest', stripeApi: null },
    ...{ logger: createLogger('silent'), now: Date.now, close: async () => undefined },
  });
  const property = fc.asyncProperty(
    fc.array(anyEvent, { minLength: 5, maxLength: 15 }),
    async (events) => {
      const { teamId, customerId } = await store.addTeam();
      const plans = [await store.planOf(teamId)];
      for (const { replaced, ...fields } of events) {
        const previousAttributes = replaced === null ? undefined : { status: replaced };
        await ingest([
          receivedEvent({
            customerId,
            ...fields,
            ...(previousAttributes && { previousAttributes }),
          }),
        ]);
        plans.push(await store.planOf(teamId));
      }
      let turn = 0;
      for await (const event of searchLog(query, { customerId }, 'oldest first')) {
        const { reasons, plans: explained, teams } = await explainEvent(context, event);
        expect(reasons[0]?.code).not.toBe('no-longer-known');
        const [before, after] = [plans[turn], plans[turn + 1]];
        turn += 1;
        // Without a change, the plan is the same before and after it.
        if (explained === null) expect(after).toEqual(before);
        else expect([explained.before ?? NO_PLAN, explained.after]).toEqual([before, after]);
        expect(teams).toMatchObject([{ id: teamId, plan: plans.at(-1) }]);
      }
      expect(turn).toBe(events.length);

      // Each event once, and with it what it changed in the row.
      const explained = await explainTeam(context, teamId, { limit: 20 });
      const items = (explained?.timeline.rows ?? []).toReversed();
      expect(items.map(({ kind }) => kind)).toEqual(events.map(() => 'event'));
      for (const [index, item] of items.entries()) {
        if (item.kind !== 'event') throw new RangeError(item.kind);
        const alone = await explainEvent(context, item.event);
        expect(item.reasons).toEqual(alone.reasons);
        expect(item.plans?.after ?? plans[index + 1]).toEqual(plans[index + 1]);
        expect(item.plans?.before ?? NO_PLAN).toEqual(item.plans === null ? NO_PLAN : plans[index]);
      }
    },
  );
  await fc.assert(property, { numRuns: repetitions(6, 20) });
});
