import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startFakeStripeApi } from 'instep/testing';
import { expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';

const run = promisify(execFile);
const BUILT = new URL('../../packages/instep/dist/', import.meta.url);

/** An app whose last own work ends when maintenance has run. It closes no handler. */
const APP = `
  import { createServer } from 'node:http';
  import { createHandler, createLogger } from '${new URL('index.js', BUILT)}';
  import { createNodeHandler } from '${new URL('adapters/node.js', BUILT)}';

  const ownWork = setInterval(() => undefined, 1_000);
  const logger = createLogger('debug', {
    write: (line) => line.includes('caught up') && clearInterval(ownWork),
  });
  const response = await createHandler({ logger })(new Request('http://localhost/api/user'));
  console.log(await response.json());
  const server = createServer(createNodeHandler({ logger })).listen(0, '127.0.0.1', async () => {
    const url = 'http://127.0.0.1:' + server.address().port + '/api/user';
    console.log(await (await fetch(url, { headers: { connection: 'close' } })).json());
    server.close();
  });`;

test('a process ends by itself, although it has closed no handler', async () => {
  const url = await createMigratedDatabase();
  const api = await startFakeStripeApi();
  const env = { ...SETTINGS, DATABASE_URL: url.href, STRIPE_API_BASE: api.url };
  const args = ['--input-type=module', '--eval', APP];
  const { stdout } = await run(process.execPath, args, { env, timeout: 30_000 });
  await api.close();
  expect(stdout).toBe('null\nnull\n');
});
