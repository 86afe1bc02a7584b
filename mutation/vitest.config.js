import { defineConfig } from 'vitest/config';

// Without this file Vitest would find the product's own configuration, which needs a database.
export default defineConfig({
  resolve: { alias: { 'instep/src': new URL('packages/instep/src', import.meta.url).pathname } },
  test: { include: ['tests/**/*.test.ts'] },
});
