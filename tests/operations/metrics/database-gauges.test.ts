import { expect, test } from 'vitest';
import { observeDatabase } from '../../../src/operations/metrics/database-gauges.ts';
import { Instruments } from '../../../src/operations/metrics/instruments.ts';
import type { OutOfSync } from '../../../src/queries/out-of-sync.ts';

const STATE: OutOfSync = { parkedEvents: 7, ties: 0, namelessProducts: 0, lastDeliveredMs: null };

/** The gauges of a database that says this, and whose clock the test sets. */
function observed(readOutOfStep: () => Promise<OutOfSync>) {
  const clock = { nowMs: 1_000 };
  const instruments = new Instruments();
  observeDatabase(instruments, {
    poolUse: () => ({ total: 3, idle: 1, waiting: 2 }),
    readOutOfStep,
    now: () => clock.nowMs,
    clockMs: () => clock.nowMs,
  });
  return {
    clock,
    async valuesOf(name: string) {
      const metric = (await instruments.snapshot()).find((one) => one.name === name);
      return metric?.values.map(({ value }) => value);
    },
  };
}

test('a database that never answers keeps nobody waiting', async () => {
  const { valuesOf } = observed(() => new Promise(() => undefined));
  expect(await valuesOf('instep_database_up')).toEqual([0]);
  expect(await valuesOf('instep_parked_events')).toEqual([]);
  expect(await valuesOf('instep_database_connection_waiters')).toEqual([2]);
});

test('it is asked once, however many ask, and again after a while', async () => {
  let asked = 0;
  const { clock, valuesOf } = observed(async () => {
    asked += 1;
    return STATE;
  });
  const all = await Promise.all(Array.from({ length: 5 }, () => valuesOf('instep_parked_events')));
  expect(all).toEqual(Array.from({ length: 5 }, () => [7]));
  expect(asked).toBe(1);
  clock.nowMs += 10_000;
  await valuesOf('instep_parked_events');
  expect(asked).toBe(2);
});

test('it is not asked again before it has answered', async () => {
  let asked = 0;
  const { clock, valuesOf } = observed(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  await valuesOf('instep_database_up');
  clock.nowMs += 10_000;
  await valuesOf('instep_database_up');
  expect(asked).toBe(1);
});

test('a defect is not taken for a database that is away', async () => {
  const { valuesOf } = observed(async () => {
    throw new TypeError('a defect');
  });
  await expect(valuesOf('instep_database_up')).rejects.toThrow('a defect');
});
