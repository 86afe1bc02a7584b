import { defineConfig } from 'vitest/config';

// Without it the product's own would be found, which needs a database.
// biome-ignore lint/style/noDefaultExport: it is read as one
export default defineConfig({ test: { include: ['tests/**/*.test.ts'] } });
