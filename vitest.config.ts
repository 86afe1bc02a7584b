import { defineConfig } from 'vitest/config';

const CRASHES = 'tests/faults/{crashes,outages}.test.ts';
const FLOODS = 'tests/faults/{attacks,floods}.test.ts';
const BROWSER = 'tests/browser/*.test.ts';

/** These run after those of a lower order, in so many processes. */
function project(name: string, maxWorkers: number, groupOrder: number, include: string) {
  const exclude = name === 'tests' ? [CRASHES, FLOODS, BROWSER] : [];
  return {
    extends: true as const,
    test: { name, include: [include], exclude, maxWorkers, sequence: { groupOrder } },
  };
}

export default defineConfig({
  test: {
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: 'tests/support/secrets/leaks.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      // They mostly wait for processes that they started, so more of them fit on a core.
      project('tests', 4, 0, 'tests/**/*.test.ts'),
      project('crashes', 2, 1, CRASHES),
      // A flood takes all of the machine: what runs beside it would wait too long.
      project('floods', 1, 2, FLOODS),
      // One browser at a time: it takes what two or three test files do.
      project('browser', 1, 3, BROWSER),
    ],
  },
});
