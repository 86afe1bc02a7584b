import { describe, expect, test } from 'vitest';
import { runCoreLevel } from '../../simulation/core/core-level.ts';
import { describeFailure } from '../../simulation/describe-failure.ts';
import { enumerate } from '../../simulation/enumeration/enumerate.ts';
import type { LevelOptions } from '../../simulation/level.ts';
import { DEFAULT_FAULTS, FAULT_NAMES } from '../../simulation/lifecycle/faults.ts';
import { repetitions } from '../support/test-length.ts';

const OPTIONS: LevelOptions = {
  firstSeed: 1,
  seeds: repetitions(20, 150),
  deliveries: repetitions(8_000, 150_000),
  planSelection: null,
  faults: DEFAULT_FAULTS,
};

test('every team ends in the expected state, in any delivery', {
  timeout: 120_000,
}, async () => {
  const { failure, deliveries, counts } = await runCoreLevel(OPTIONS);
  expect(failure && describeFailure(failure)).toBeNull();
  expect(deliveries).toBeGreaterThanOrEqual(OPTIONS.deliveries);
  expect(FAULT_NAMES.filter((name) => counts[name] === 0)).toEqual([]);
});

test.each([
  ['all', 1, 2],
  ['all', 2, 2],
  ['all', 3, repetitions(0, 1)],
  ['few', repetitions(3, 4), 1],
] as const)(
  'with %s transitions, every lifecycle of %i events ends correctly in every order with %i duplicates',
  async (...which) => {
    const [transitions, length, extra] = which;
    const { failure, lifecycles } = await enumerate({ transitions, length, extra });
    expect(failure && describeFailure(failure)).toBeNull();
    expect(lifecycles).toBeGreaterThan(4);
  },
  180_000,
);

describe('the seed determines everything', () => {
  const run = (firstSeed: number) =>
    runCoreLevel({ ...OPTIONS, firstSeed, seeds: 5, deliveries: 2_000 });

  test('the same seed gives the same run', async () => {
    expect(await run(7)).toEqual(await run(7));
  });

  test('another seed gives a different run', async () => {
    expect((await run(7)).digest).not.toBe((await run(8)).digest);
  });
});
