import { expect, test } from 'vitest';
import { isComplete } from '../support/test-length.ts';
import type { Scenario } from './scenario.ts';

/** Runs scenarios in short; the long form is `npm run torture -- NAME`. */
export function testShortForms(scenarios: Readonly<Record<string, Scenario>>): void {
  for (const [name, { run, times: all, isPossible }] of Object.entries(scenarios)) {
    const times = isComplete ? all.short : all.quick;
    if (times === undefined) continue;
    const isSkipped = isPossible?.() === false;
    test.skipIf(isSkipped)(name, { timeout: 400_000 }, async () => {
      const figures = await run({ times });
      expect(figures.acknowledged ?? figures.cases).toBeGreaterThan(0);
    });
  }
}
