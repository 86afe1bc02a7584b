import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/logging.ts';
import { auditTeam } from '../../src/simulation/auditor.ts';
import { scheduleDeliveries } from '../../src/simulation/delivery.ts';
import { isSameTeam } from '../../src/simulation/divergence.ts';
import { DEFAULT_FAULTS } from '../../src/simulation/faults.ts';
import type { Failure } from '../../src/simulation/level.ts';
import { tellLife } from '../../src/simulation/provider/history.ts';
import { createRandom } from '../../src/simulation/random.ts';
import { shrinkList } from '../../src/simulation/shrink.ts';
import { shrinkFailure } from '../../src/simulation/shrink-case.ts';
import { Account } from '../../src/simulation/store/account.ts';
import { createRunCase } from '../../src/simulation/store/run-case.ts';
import { keeperTasks } from '../../src/simulation/store/settle.ts';
import { createStoreDoor } from '../../src/simulation/store/store-door.ts';
import { createWorld } from '../../src/simulation/world.ts';
import type { TeamPlanChoice } from '../../src/subscriptions/team-plan.ts';
import { createDatabase } from '../support/test-database.ts';

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
    choice: 'newest',
    account,
    random,
    logger,
    now: Date.now,
  });
  const nonce = () => `nonce_${random.next()}`;
  const tasks = keeperTasks({ query, accept: door, account, logger, now: Date.now, nonce });
  const runCase = createRunCase({ database, accepts: [door], account, random, tasks });

  const shrunk = await shrinkFailure(found, runCase);
  expect(shrunk.isShrunk).toBe(true);
  expect(shrunk.divergences).toContainEqual(expect.objectContaining({ kind: 'team' }));
  // Two subscriptions, one of them live and the other over later; and the team's linking.
  expect(shrunk.told.life.moments).toHaveLength(2);
  expect(shrunk.steps.map(({ kind }) => kind).sort()).toEqual(['deliver', 'deliver', 'link']);
  await database.close();
});

/** A customer whose team is another one with either setting. */
function findCase(choice: TeamPlanChoice): Failure {
  for (let seed = 1; ; seed += 1) {
    for (const told of createWorld(seed)) {
      const { events } = tellLife(told.life, told.telling);
      if (isSameTeam(auditTeam(events, 'best'), auditTeam(events, 'newest'))) continue;
      const { steps } = scheduleDeliveries(events, DEFAULT_FAULTS, createRandom(seed));
      return { seed, round: 0, choice, divergences: [], told, steps, isShrunk: false };
    }
  }
}
