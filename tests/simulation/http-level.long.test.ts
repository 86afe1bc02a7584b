import { expect, test } from 'vitest';
import { describeFailure } from '../../simulation/describe-failure.ts';
import { runHttpLevel } from '../../simulation/http/http-level.ts';
import { DEFAULT_FAULTS } from '../../src/testing/lifecycle/faults.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const DELIVERIES = 500;
const PROGRAM = new URL('../../dist/cli/instep.js', import.meta.url).pathname;

test('every team is correct with two servers that are killed at times', {
  timeout: 400_000,
}, async () => {
  const { url, database } = await createDatabase();
  const { failure, deliveries, kills } = await runHttpLevel({
    firstSeed: 1,
    seeds: 60,
    deliveries: DELIVERIES,
    planSelection: 'best',
    faults: DEFAULT_FAULTS,
    database,
    servers: 2,
    program: PROGRAM,
    environment: { DATABASE_URL: url.href },
    kill: 0.002,
    now: Date.now,
  });
  await database.close();
  expect(failure && describeFailure(failure)).toBeNull();
  expect(deliveries).toBeGreaterThanOrEqual(DELIVERIES);
  expect(kills).toBeGreaterThan(0);
});
