import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { signWebhook } from '../../src/testing/sign-webhook.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { createFolder, SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/canaries.ts';
import { lookAtOutput } from '../support/secrets/leaks.ts';
import { eventBody } from '../support/stripe/events.ts';

const PROGRAM = new URL('../../dist/cli/instep.js', import.meta.url).pathname;

test('a server whose output nobody reads any more serves on, and ends as ever', async () => {
  const { url, database } = await createDatabase();
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    cwd: createFolder(),
    env: { PATH: process.env.PATH, ...SETTINGS, DATABASE_URL: url.href },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  while (!written.includes('"listening"')) await once(child.stdout, 'data');
  const [, address] = /"url":"([^"]+)"/.exec(written) ?? [];
  lookAtOutput(['serve'], written);
  child.stdout.destroy();
  child.stderr.destroy();

  for (let count = 0; count < 3; count += 1) {
    const body = eventBody();
    const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
    const answer = await fetch(`${address}/api/stripe/webhook`, {
      method: 'POST',
      headers: { 'stripe-signature': signature },
      body,
    });
    expect(answer.status).toBe(200);
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  await database.close();
});
