import { expect, test } from 'vitest';
import type { Scenario } from './scenario.ts';

/** Runs scenarios in short; the long form is `npm run torture -- NAME`. */
export function testShortForms(scenarios: Readonly<Record<string, Scenario>>): void {
  for (const [name, { run, times, isPossible }] of Object.entries(scenarios)) {
    const isSkipped = isPossible?.() === false;
    test.skipIf(isSkipped)(name, { timeout: 400_000 }, async () => {
      const figures = await run({ times: times.short });
      expect(figures.acknowledged ?? figures.cases).toBeGreaterThan(0);
    });
  }
}
