import fc from 'fast-check';
import { createExposition } from 'instep/src/operations/metrics/exposition.ts';
import { Histogram } from 'instep/src/operations/metrics/series.ts';
import { Histogram as Reference, Registry } from 'prom-client';
import { expect, test } from 'vitest';

const ROUTES = ['/', '/api', 'other'];
const BOUNDS = [0.1, 1, 10];
const [NAME, HELP] = ['took_seconds', 'How long it took.'];

test('a histogram has the same values as the one of prom-client', async () => {
  const observation = fc.record({
    route: fc.constantFrom(...ROUTES),
    value: fc.oneof(fc.constantFrom(0, ...BOUNDS), fc.double({ min: 0, max: 20, noNaN: true })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(observation), async (observations) => {
      const registry = new Registry();
      const reference = new Reference({
        name: NAME,
        help: HELP,
        labelNames: ['route'],
        buckets: BOUNDS,
        registers: [registry],
      });
      const histogram = new Histogram(NAME, HELP, BOUNDS);
      for (const { route, value } of observations) {
        reference.observe({ route }, value);
        histogram.observe(value, { route });
      }
      const ours = await createExposition(async () => [[histogram.read()]]).expose();
      expect(sorted(ours)).toEqual(sorted(await registry.metrics()));
    }),
  );
});

/** The lines, each with its labels in one order. */
function sorted(text: string): string[] {
  const lines = text
    .split('\n')
    .map((line) =>
      line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').sort().join(',')}}`),
    );
  return lines.sort();
}
