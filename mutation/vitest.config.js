import { defineConfig } from 'vitest/config';

// Without this file Vitest would find the product's own configuration, which needs a database.
export default defineConfig({ test: { include: ['tests/**/*.test.ts'] } });
