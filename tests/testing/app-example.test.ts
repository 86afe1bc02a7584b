import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';

process.env.TEST_DATABASE_URL = (await createMigratedDatabase()).href;
await import('./app-example.ts');

test('docs/testing.md shows this example', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const example = read('./app-example.ts');
  expect(read('../../docs/testing.md')).toContain(`\`\`\`ts\n${example}\`\`\``);
});
