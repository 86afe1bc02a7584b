import fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditTeam } from '../../simulation/auditor.ts';
import { isSameTeam } from '../../simulation/divergence.ts';
import type { Failure } from '../../simulation/level.ts';
import { shrinkList } from '../../simulation/shrink.ts';
import { shrinkFailure } from '../../simulation/shrink-case.ts';
import { keeperTasks } from '../../simulation/store/maintenance-jobs.ts';
import { createRunCase } from '../../simulation/store/run-case.ts';
import { Account } from '../../simulation/store/simulated-api.ts';
import { createStoreDoor } from '../../simulation/store/unreliable-pipeline.ts';
import { createWorld } from '../../simulation/world.ts';
import type { PlanSelection } from '../../src/core/plan-selection.ts';
import { createLogger } from '../../src/runtime/logging.ts';
import { scheduleDeliveries } from '../../src/testing/lifecycle/delivery-schedule.ts';
import { DEFAULT_FAULTS } from '../../src/testing/lifecycle/faults.ts';
import { tellLife } from '../../src/testing/lifecycle/history.ts';
import { createRandom } from '../../src/testing/random.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

test('what is left fails, and nothing of it can be missed', async () => {
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

test('the order is kept', async () => {
  const fails = async (candidate: readonly number[]) => /3.*9/.test(candidate.join(' '));
  expect(await shrinkList([9, 1, 3, 4, 3, 7, 9, 2], fails)).toEqual([3, 9]);
});

test('a case that diverges on a database is lived again with ever less', async () => {
  const { database } = await createDatabase();
  const random = createRandom(1);
  const account = new Account();
  const logger = createLogger('silent');
  const { query } = database;
  // The doors have another setting than the auditor.
  const found = findCase('best');
  const door = createStoreDoor(database, {
    planSelection: 'newest',
    account,
    random,
    logger,
    now: Date.now,
  });
  const nonce = () => `nonce_${random.next()}`;
  const tasks = keeperTasks({ query, ingest: door, account, logger, now: Date.now, nonce });
  const runCase = createRunCase({ database, ingests: [door], account, random, tasks });

  const shrunk = await shrinkFailure(found, runCase);
  expect(shrunk.isShrunk).toBe(true);
  expect(shrunk.divergences).toContainEqual(expect.objectContaining({ kind: 'team' }));
  // Two subscriptions, one of them live and the other over later; and the team's linking.
  expect(shrunk.told.life.moments).toHaveLength(2);
  expect(shrunk.steps.map(({ kind }) => kind).sort()).toEqual(['deliver', 'deliver', 'link']);
  await database.close();
});

/** A customer whose team is another one with either setting. */
function findCase(planSelection: PlanSelection): Failure {
  for (let seed = 1; ; seed += 1) {
    for (const told of createWorld(seed)) {
      const { events } = tellLife(told.life, told.telling);
      if (isSameTeam(auditTeam(events, 'best'), auditTeam(events, 'newest'))) continue;
      const { steps } = scheduleDeliveries(events, DEFAULT_FAULTS, createRandom(seed));
      return { seed, round: 0, planSelection, divergences: [], told, steps, isShrunk: false };
    }
  }
}
