import { defineConfig } from 'vitest/config';
import { isComplete } from './tests/support/test-length.ts';

/** These run in `npm run test:all` only. */
const LONG = isComplete ? [] : ['tests/**/*.long.test.ts'];

/** These need the machine for themselves: what runs beside a flood would wait too long. */
const FLOODS = 'tests/faults/{attacks,floods}.test.ts';

function project(name: string, options: { maxWorkers: number; groupOrder: number }) {
  const { maxWorkers, groupOrder } = options;
  const files = name === 'floods' ? { include: [FLOODS] } : { exclude: [FLOODS, ...LONG] };
  return {
    extends: true as const,
    test: { name, include: ['tests/**/*.test.ts'], ...files, maxWorkers, sequence: { groupOrder } },
  };
}

export default defineConfig({
  // The packages by name, from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: ['tests/support/secrets/leaks.ts', 'tests/support/wait-longer.ts'],
    expect: { poll: { timeout: 20_000 } },
    // A busy machine must not hold up a change. The report names what passed only the second time.
    retry: process.env.CI === undefined ? 0 : 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      // They mostly wait for processes that they started, so several fit on a core.
      project('tests', { maxWorkers: 4, groupOrder: 0 }),
      project('floods', { maxWorkers: 1, groupOrder: 1 }),
    ],
  },
});
