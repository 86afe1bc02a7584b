import { defineConfig } from 'vitest/config';

/** `npm run docs` builds the site, which takes dependencies of its own, and then tests it. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ['tests/website/website.ts'],
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
