import { defineConfig } from 'vitest/config';

/** `npm run screenshots` writes `docs/img`. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ['tests/browser/screenshots/screenshots.ts'],
    globalSetup: 'tests/support/global-setup.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
