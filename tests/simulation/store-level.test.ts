import { createLogger } from 'instep';
import { expect, test } from 'vitest';
import { describeFailure } from '../../simulation/describe-failure.ts';
import { DEFAULT_FAULTS } from '../../simulation/lifecycle/faults.ts';
import { openPipelines } from '../../simulation/store/fleet.ts';
import { DEFAULT_LOSSES } from '../../simulation/store/losses.ts';
import { runStoreLevel } from '../../simulation/store/store-level.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';
import { repetitions } from '../support/test-length.ts';

const DELIVERIES = repetitions(400, 4_000);

test('every team is correct with several ingest pipelines and maintenance on one database', {
  timeout: 400_000,
}, async () => {
  const { url, database } = await createDatabase();
  await database.close();
  const { failure, deliveries, dropped, forgotten } = await runStoreLevel({
    firstSeed: 1,
    seeds: repetitions(12, 120),
    deliveries: DELIVERIES,
    planSelection: null,
    faults: DEFAULT_FAULTS,
    open: () => connect(url),
    openFleet: (options) => openPipelines(3, options),
    losses: DEFAULT_LOSSES,
    logger: createLogger('silent'),
    now: Date.now,
  });
  expect(failure && describeFailure(failure)).toBeNull();
  expect(deliveries).toBeGreaterThanOrEqual(DELIVERIES);
  expect(Math.min(dropped, forgotten)).toBeGreaterThan(0);
});
