import fc from 'fast-check';
import { Counter, createExposition, Histogram } from 'instep/src/metrics/series.ts';
import { expect, test } from 'vitest';
import { valuesIn } from '../support/service/metrics-service.ts';

const ROUTES = ['/', '/api', 'other'];
const BOUNDS = [0.1, 1, 10];

test('a bucket of a histogram counts the values up to its bound', async () => {
  const observation = fc.record({
    route: fc.constantFrom(...ROUTES),
    value: fc.oneof(fc.constantFrom(0, ...BOUNDS), fc.double({ min: 0, max: 20, noNaN: true })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(observation), async (observations) => {
      const histogram = new Histogram('took_seconds', 'How long it took.', BOUNDS);
      for (const { route, value } of observations) histogram.observe(value, { route });
      const values = valuesIn(await createExposition(async () => [histogram.read()]).expose());
      for (const route of new Set(observations.map((one) => one.route))) {
        const own = observations.filter((one) => one.route === route).map(({ value }) => value);
        for (const bound of [...BOUNDS, Number.POSITIVE_INFINITY]) {
          const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : bound;
          expect(values.get(`took_seconds_bucket{route="${route}",le="${le}"}`)).toBe(
            own.filter((value) => value <= bound).length,
          );
        }
        expect(values.get(`took_seconds_count{route="${route}"}`)).toBe(own.length);
        expect(values.get(`took_seconds_sum{route="${route}"}`)).toBe(
          own.reduce((sum, value) => sum + value, 0),
        );
      }
      expect(values.size).toBe(new Set(observations.map((one) => one.route)).size * 6);
    }),
  );
});

test('a metric is exposed with its description, its type and escaped labels', async () => {
  const counter = new Counter('events_total', 'Events by code.');
  counter.declare({ code: 'none' });
  counter.increase({ code: '"a"\\\n' });
  expect(await createExposition(async () => [counter.read()]).expose()).toBe(
    [
      '# HELP events_total Events by code.',
      '# TYPE events_total counter',
      'events_total{code="none"} 0',
      'events_total{code="\\"a\\"\\\\\\n"} 1',
      '',
    ].join('\n'),
  );
});
