import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from 'instep';
import { createNodeHandler } from 'instep/node';
import { afterAll, describe, expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { freePort } from '../support/process/free-port.ts';
import { SETTINGS } from '../support/process/instep-process.ts';

// The app, which runs before the tests of the example and goes on after them.
Object.assign(process.env, {
  DATABASE_URL: (await createMigratedDatabase()).href,
  STRIPE_API_BASE: `http://127.0.0.1:${await freePort()}`,
  STRIPE_WEBHOOK_SECRET: SETTINGS.STRIPE_WEBHOOK_SECRET,
});
const environment = { ...SETTINGS, ...process.env };
const instep = createNodeHandler({ environment, logger: createLogger('silent') });
const app = createServer(instep);
await new Promise<void>((listening) => app.listen(0, '127.0.0.1', listening));
process.env.APP_URL = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
afterAll(async () => {
  app.close();
  await instep.close();
});

describe.each(['once', 'again'])('with the same database: %s', async (run) => {
  const example = new URL(`./app-example.ts?${run}`, import.meta.url);
  await import(example.href);
});

test('docs/testing.md shows this example', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  const example = read('./app-example.ts');
  expect(read('../../docs/testing.md')).toContain(`\`\`\`ts\n${example}\`\`\``);
});
