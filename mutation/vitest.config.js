import { defineConfig } from 'vitest/config';

// Without this file Vitest would find the product's own configuration, which needs a database.
export default defineConfig({
  resolve: {
    alias: {
      'instep-engine/rule': new URL('packages/engine/src/rule/index.ts', import.meta.url).pathname,
    },
  },
  test: { include: ['tests/**/*.test.ts'], testTimeout: 30_000 },
});
