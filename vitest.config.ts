import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Tests mostly wait for processes that they started, so more of them fit on a core.
    maxWorkers: 4,
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: 'tests/support/leaks.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
