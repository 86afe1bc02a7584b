import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = fileURLToPath(new URL('packages/engine/src/', import.meta.url));

// Without this file Vitest would find the product's own configuration, which needs a database.
export default defineConfig({
  resolve: {
    alias: [
      { find: 'instep-engine/rule', replacement: `${source}rule/index.ts` },
      // What the simulation needs of the log, without PostgreSQL's driver.
      { find: 'instep-engine/log', replacement: `${source}log/decide.ts` },
      { find: /^instep-engine\/src\//, replacement: source },
    ],
  },
  test: { include: ['tests/**/*.test.ts'], testTimeout: 60_000 },
});
