import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { addTeam } from '../support/internals/rows.ts';
import { connect, createMigratedDatabase } from '../support/postgres/test-database.ts';
import { postSigned, SETTINGS } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';
import { eventBody } from '../support/stripe/events.ts';

const ENGINE = join(ROOT, 'packages/engine');

/** The program of the page, in a folder with the built package, on a free port. */
function programOf(page: string): string {
  const [, program = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'instep-engine-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ENGINE, join(folder, 'node_modules/instep-engine'));
  const path = join(folder, 'server.mjs');
  writeFileSync(path, `${program.replace('port: 3000', 'port: 0')}console.log(server.url);\n`);
  return path;
}

test('the program of the README serves the two endpoints', async () => {
  const url = await createMigratedDatabase();
  const database = connect(url);
  const teamId = await addTeam(database.query, { name: 'Team', customerId: 'cus_alone' });
  const program = programOf(readFileSync(join(ENGINE, 'README.md'), 'utf8'));
  const environment = { ...process.env, ...SETTINGS, DATABASE_URL: url.href };
  const child = spawn(process.execPath, [program], { env: environment });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  const address = await vi.waitFor(
    () => /^http:\S+$/m.exec(output)?.[0] ?? Promise.reject(new Error(output)),
    { timeout: 20_000 },
  );

  const body = eventBody({ customerId: 'cus_alone', status: 'active' });
  expect((await postSigned(address, body)).status).toBe(200);
  const text = 'select subscription_status as status from teams where id = $1';
  expect(await database.query(text, [teamId])).toEqual([{ status: 'active' }]);
  expect(await (await fetch(`${address}/api/user`)).json()).toBe(null);

  child.kill('SIGTERM');
  const ended = await new Promise((resolve) => child.once('exit', resolve));
  expect(ended).toBe(0);
});
