import { defineConfig } from 'vitest/config';

/** The long form takes hours: `npm test` runs the short one. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ['tests/faults/long.ts'],
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: ['tests/support/setup.ts'],
    testTimeout: 4 * 60 * 60_000,
    hookTimeout: 60_000,
  },
});
