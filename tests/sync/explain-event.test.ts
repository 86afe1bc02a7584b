import fc from 'fast-check';
import { expect, test } from 'vitest';
import { explainEvent } from '../../src/sync/explain-event.ts';
import { explainHistory } from '../../src/sync/explain-history.ts';
import { searchLog } from '../../src/sync/search-log.ts';
import { NO_PLAN } from '../support/contract-service.ts';
import { useDatabase } from '../support/door-service.ts';
import { openDoor } from '../support/doors.ts';
import { receivedEvent } from '../support/events.ts';
import { embeddedServer } from '../support/test-database.ts';

const store = useDatabase(embeddedServer);

const anyEvent = fc.record({
  createdSeconds: fc.nat({ max: 3 }).map((second) => 1_700_000_000 + second),
  subscriptionId: fc.constantFrom('sub_1', 'sub_1', 'sub_2'),
  status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due'),
  productId: fc.constantFrom('prod_1', 'prod_2'),
  replaced: fc.option(fc.constantFrom('active', 'trialing', 'past_due')),
});

test('of every event the log tells why, and the plans before and after are those of the team', async () => {
  const accept = openDoor(store.database, async (productId) => `The plan of ${productId}`);
  const { query } = store.database;
  const property = fc.asyncProperty(
    fc.array(anyEvent, { minLength: 5, maxLength: 15 }),
    async (events) => {
      const { teamId, customerId } = await store.addTeam();
      const plans = [await store.planOf(teamId)];
      for (const { replaced, ...made } of events) {
        const previousAttributes = replaced === null ? undefined : { status: replaced };
        await accept([
          receivedEvent({ customerId, ...made, ...(previousAttributes && { previousAttributes }) }),
        ]);
        plans.push(await store.planOf(teamId));
      }
      let turn = 0;
      for await (const event of searchLog(query, { customerId }, 'oldest first')) {
        const { why, plans: told, teams } = await explainEvent(query, event, 'newest');
        expect(why[0]).toMatch(new RegExp(`^${event.outcome}: (?!the log does not tell)`));
        expect(told?.before ?? NO_PLAN).toEqual(plans[turn]);
        turn += 1;
        expect(told?.after ?? NO_PLAN).toEqual(plans[turn]);
        expect(teams).toMatchObject([{ id: teamId, plan: plans.at(-1) }]);
      }
      expect(turn).toBe(events.length);

      const history = { customerId, choice: 'newest', teamIds: [teamId], before: null } as const;
      const { entries } = await explainHistory(query, { ...history, limit: 20 });
      expect(entries.length).toBe(events.length);
      for (const { event, why, plans: told } of entries) {
        const alone = await explainEvent(query, event, 'newest');
        expect({ why, plans: told }).toEqual({ why: alone.why, plans: alone.plans });
      }
    },
  );
  await fc.assert(property, { numRuns: 20 });
});
