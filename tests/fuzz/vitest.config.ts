import { defineConfig } from 'vitest/config';

/** The same test as in `npm test`, without a database, which it does not need. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: { include: ['tests/fuzz/parsers.test.ts'] },
});
