import { defineConfig } from 'vitest/config';

// Without it the product's own would be found, which needs a database.
export default defineConfig({ test: { include: ['tests/**/*.test.ts'] } });
