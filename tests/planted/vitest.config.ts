import { defineConfig } from 'vitest/config';

/** Planted bugs take minutes, so they are not part of `npm test`. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    include: ['tests/planted/planted.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 30_000,
    maxConcurrency: 2,
  },
});
