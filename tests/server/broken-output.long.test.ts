import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { signWebhook } from 'instep/testing';
import { expect, onTestFinished, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { createFolder, SETTINGS } from '../support/process/instep-process.ts';
import { checkOutput } from '../support/secrets/leaks.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

const PROGRAM = new URL('../../packages/instep/dist/cli/instep.js', import.meta.url).pathname;

/** A server whose output is read until it listens, and then paused. */
async function startServer() {
  const url = await createMigratedDatabase();
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    cwd: createFolder(),
    env: { PATH: process.env.PATH, ...SETTINGS, DATABASE_URL: url.href },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  while (!written.includes('"listening"')) await once(child.stdout, 'data');
  const [, address] = /"url":"([^"]+)"/.exec(written) ?? [];
  checkOutput(['serve'], written);
  child.stdout.pause();
  return {
    child,
    async post(body: string): Promise<number> {
      const signature = signWebhook(body, WEBHOOK_SECRET, Date.now());
      const response = await fetch(`${address}/api/stripe/webhook`, {
        method: 'POST',
        headers: { 'stripe-signature': signature },
        body,
      });
      return response.status;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      return await exited;
    },
  };
}

test('a server whose output is closed answers, and exits with 0', async () => {
  const { child, post, stop } = await startServer();
  child.stdout.destroy();
  child.stderr.destroy();
  for (let count = 0; count < 3; count += 1) expect(await post(eventBody())).toBe(200);
  expect(await stop()).toEqual([0, null]);
});

test('a server whose output is not read answers, and exits with 0', async () => {
  const { post, stop } = await startServer();
  // Each is a log line of about 400 bytes, and a pipe holds 64 kB on both sides.
  const type = 'x'.repeat(300);
  for (let round = 0; round < 40; round += 1) {
    const posts = Array.from({ length: 20 }, () => post(eventBody({ type })));
    expect(new Set(await Promise.all(posts))).toEqual(new Set([200]));
  }
  expect(await stop()).toEqual([0, null]);
});
