import { expect, test } from 'vitest';
import { SCENARIOS } from './scenarios.ts';

/** The long form is `npm run torture -- NAME`. */
test.each(Object.entries(SCENARIOS))('%s', { timeout: 120_000 }, async (_, { run, times }) => {
  const figures = await run({ times: times.short });
  expect(figures.acknowledged).toBeGreaterThan(0);
});
