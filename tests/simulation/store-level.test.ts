import { expect, test } from 'vitest';
import { createLogger } from '../../src/logging.ts';
import { describeFailure } from '../../src/simulation/describe-failure.ts';
import { DEFAULT_FAULTS } from '../../src/simulation/faults.ts';
import { DEFAULT_LOSSES } from '../../src/simulation/store/losses.ts';
import { runStoreLevel } from '../../src/simulation/store/store-level.ts';
import { connect, createDatabase } from '../support/test-database.ts';

test('several doors on one database, and the keeper beside them', {
  timeout: 400_000,
}, async () => {
  const { url, database } = await createDatabase();
  await database.close();
  const { failure, deliveries, dropped, forgotten } = await runStoreLevel({
    firstSeed: 1,
    seeds: 120,
    deliveries: 4_000,
    choice: null,
    faults: DEFAULT_FAULTS,
    open: () => connect(url),
    doors: 3,
    losses: DEFAULT_LOSSES,
    logger: createLogger('silent'),
    now: Date.now,
  });
  expect(failure && describeFailure(failure)).toBeNull();
  expect(deliveries).toBeGreaterThanOrEqual(4_000);
  expect(Math.min(dropped, forgotten)).toBeGreaterThan(0);
});
