import type { Figures } from 'instep/src/health/figures.ts';
import type { Issue } from 'instep/src/health/issues.ts';
import { createGauges, type ObservedHealth } from 'instep/src/metrics/metrics.ts';
import { expect, test } from 'vitest';

const FIGURES: Figures = {
  parkedEvents: 7,
  parkedCustomers: 2,
  parkedSinceMs: 0,
  namelessProducts: 0,
  unresolvedProducts: 0,
  lastReceivedMs: null,
  lastDeliveredMs: null,
  undeliveredSinceMs: null,
  newestCreatedSeconds: null,
};

/** The gauges of a database in this state. */
function observed(readHealth: () => Promise<ObservedHealth>) {
  const readGauges = createGauges(
    {
      queued: () => ({ ready: 5, blocked: 4, limit: 9 }),
      poolUse: () => ({ total: 3, idle: 1, waiting: 2 }),
      readHealth,
      now: () => 1_000,
    },
    () => null,
  );
  return {
    async valuesOf(name: string) {
      const lines = (await readGauges()).flatMap((metric) => metric.lines);
      return lines
        .filter((line) => line.startsWith(name))
        .map((line) => Number(line.split(' ')[1]));
    },
  };
}

test('a database that never answers does not delay the scrape', async () => {
  const { valuesOf } = observed(() => new Promise(() => undefined));
  expect(await valuesOf('instep_database_up')).toEqual([0]);
  expect(await valuesOf('instep_parked_events')).toEqual([]);
  expect(await valuesOf('instep_database_connection_waiters')).toEqual([2]);
});

test('concurrent scrapes share one read of the database, and a later scrape reads again', async () => {
  let asked = 0;
  const { valuesOf } = observed(async () => {
    asked += 1;
    return { figures: FIGURES, parkedOfKnownCustomers: 1, issues: [] };
  });
  const all = await Promise.all(Array.from({ length: 5 }, () => valuesOf('instep_parked_events')));
  expect(all).toEqual(Array.from({ length: 5 }, () => [7]));
  expect(asked).toBe(1);
  await valuesOf('instep_parked_events');
  expect(asked).toBe(2);
});

test('parked events of customers that a team had are a separate metric, for the alert', async () => {
  const { valuesOf } = observed(async () => ({
    figures: FIGURES,
    parkedOfKnownCustomers: 1,
    issues: [],
  }));
  expect(await valuesOf('instep_parked_events')).toEqual([7]);
  expect(await valuesOf('instep_known_customer_parked_events')).toEqual([1]);
});

test('issues are counted by code, and codes without issues are zeros', async () => {
  const issue: Issue = {
    ...{ code: 'out-of-sync', severity: 'failure', concerns: 'team' },
    ...{ remedies: ['repair'], count: 3, isMore: false, evidence: {} },
  };
  const { valuesOf } = observed(async () => ({
    figures: FIGURES,
    parkedOfKnownCustomers: 1,
    issues: [issue],
  }));
  expect(await valuesOf('instep_issues{code="out-of-sync"}')).toEqual([3]);
  expect(await valuesOf('instep_issues{code="plan-refused"}')).toEqual([0]);
  expect(await valuesOf('instep_issues{code="writes-not-committed"}')).toEqual([]);
});

test('a pending read of the database is not repeated', async () => {
  let asked = 0;
  const { valuesOf } = observed(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  await valuesOf('instep_database_up');
  await valuesOf('instep_database_up');
  expect(asked).toBe(1);
});

test('a defect is not reported as an unavailable database', async () => {
  const { valuesOf } = observed(async () => {
    throw new TypeError('a defect');
  });
  await expect(valuesOf('instep_database_up')).rejects.toThrow('a defect');
});
