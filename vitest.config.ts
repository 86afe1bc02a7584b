import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: 'tests/support/leaks.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/torture/{crashes,outages,attacks,floods}.test.ts'],
          // They mostly wait for processes that they started, so more of them fit on a core.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          // They use the machine as much as they can: what else runs then waits too long.
          name: 'torture',
          include: ['tests/torture/{crashes,outages,attacks,floods}.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
