import { expect, test } from 'vitest';
import { SCENARIOS } from './scenarios.ts';

/** The long form is `npm run torture -- NAME`. */
for (const [name, { run, times, isPossible }] of Object.entries(SCENARIOS)) {
  const isSkipped = isPossible?.() === false;
  test.skipIf(isSkipped)(name, { timeout: 120_000 }, async () => {
    const figures = await run({ times: times.short });
    expect(figures.acknowledged ?? figures.cases).toBeGreaterThan(0);
  });
}
