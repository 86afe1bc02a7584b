import { createMetrics, type MetricsSources } from 'instep-operate/metrics';
import { expect, test } from 'vitest';
import { valuesIn } from '../support/service/metrics-service.ts';

/** The gauges of a database in this state. */
function observed(readIssues: MetricsSources['readIssues']) {
  const { exposition } = createMetrics({
    queued: () => ({ ready: 5, blocked: 4, limit: 9 }),
    poolUse: () => ({ total: 3, idle: 1, waiting: 2 }),
    readIssues,
  });
  return async (series: string) => valuesIn(await exposition.expose()).get(series);
}

test('a database that never answers does not delay the scrape, and is asked once', async () => {
  let asked = 0;
  const value = observed(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  expect(await value('instep_database_up')).toBe(0);
  expect(await value('instep_issues{code="out-of-sync"}')).toBeUndefined();
  expect(await value('instep_database_connections{state="waiting"}')).toBe(2);
  expect(asked).toBe(1);
});

test('concurrent scrapes share one read of the database, and a later scrape reads again', async () => {
  let asked = 0;
  const value = observed(async () => {
    asked += 1;
    return [];
  });
  const all = await Promise.all(Array.from({ length: 5 }, () => value('instep_database_up')));
  expect(all).toEqual([1, 1, 1, 1, 1]);
  expect(asked).toBe(1);
  await value('instep_database_up');
  expect(asked).toBe(2);
});

test('a defect is not reported as an unavailable database', async () => {
  const value = observed(async () => {
    throw new TypeError('a defect');
  });
  await expect(value('instep_database_up')).rejects.toThrow('a defect');
});
