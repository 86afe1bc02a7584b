import fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditTeam } from '../../simulation/auditor.ts';
import { isSameTeam } from '../../simulation/divergence.ts';
import type { Failure } from '../../simulation/level.ts';
import { shrinkFailure, shrinkList } from '../../simulation/shrink.ts';
import { maintenanceJobs } from '../../simulation/store/maintenance-jobs.ts';
import { createRunCase } from '../../simulation/store/run-case.ts';
import { SimulatedApi } from '../../simulation/store/simulated-api.ts';
import { openUnreliablePipeline } from '../../simulation/store/unreliable-pipeline.ts';
import { createWorld } from '../../simulation/world.ts';
import type { PlanSelection } from '../../src/core/plan-selection.ts';
import { createLogger } from '../../src/runtime/logging.ts';
import { scheduleDeliveries } from '../../src/testing/lifecycle/delivery-schedule.ts';
import { DEFAULT_FAULTS } from '../../src/testing/lifecycle/faults.ts';
import { renderHistory } from '../../src/testing/lifecycle/history.ts';
import { createRandom } from '../../src/testing/random.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

test('a shrunk list fails, and does not fail without any one of its items', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(20)),
      fc.array(fc.nat(20), { maxLength: 3 }),
      async (items, needed) => {
        const fails = async (candidate: readonly number[]) =>
          needed.every((one) => candidate.includes(one));
        fc.pre(await fails(items));
        const shrunk = await shrinkList(items, fails);
        expect([...shrunk].sort()).toEqual([...new Set(needed)].sort());
      },
    ),
  );
});

test('a shrunk list keeps its order', async () => {
  const fails = async (candidate: readonly number[]) => /3.*9/.test(candidate.join(' '));
  expect(await shrinkList([9, 1, 3, 4, 3, 7, 9, 2], fails)).toEqual([3, 9]);
});

test('a case that diverges on a database is shrunk to the fewest events and steps', async () => {
  const { database } = await createDatabase();
  const random = createRandom(1);
  const api = new SimulatedApi();
  const logger = createLogger('silent');
  const { query } = database;
  // The pipeline has another plan selection than the auditor.
  const found = findCase('best');
  const ingest = openUnreliablePipeline(database, {
    planSelection: 'newest',
    api,
    random,
    logger,
    now: Date.now,
  });
  const nonce = () => `nonce_${random.next()}`;
  const jobs = maintenanceJobs({ query, ingest, api, logger, now: Date.now, nonce });
  const runCase = createRunCase({ database, ingests: [ingest], api, random, jobs });

  const shrunk = await shrinkFailure(found, runCase);
  expect(shrunk.isShrunk).toBe(true);
  expect(shrunk.divergences).toContainEqual(expect.objectContaining({ kind: 'team' }));
  // One subscription is live, another one ends later, and the team is linked.
  expect(shrunk.customer.lifecycle.changes).toHaveLength(2);
  expect(shrunk.steps.map(({ kind }) => kind).sort()).toEqual(['deliver', 'deliver', 'link']);
  await database.close();
});

/** A customer whose team depends on the plan selection. */
function findCase(planSelection: PlanSelection): Failure {
  for (let seed = 1; ; seed += 1) {
    for (const customer of createWorld(seed)) {
      const { events } = renderHistory(customer.lifecycle, customer.format);
      if (isSameTeam(auditTeam(events, 'best'), auditTeam(events, 'newest'))) continue;
      const { steps } = scheduleDeliveries(events, DEFAULT_FAULTS, createRandom(seed));
      return { seed, round: 0, planSelection, divergences: [], customer, steps, isShrunk: false };
    }
  }
}
