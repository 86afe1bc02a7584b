import { expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { postSigned, SETTINGS, spawnInstep } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

async function startServer() {
  const DATABASE_URL = (await createMigratedDatabase()).href;
  const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL });
  await instep.writes(/"listening"/);
  const [, address = ''] = /"url":"([^"]+)"/.exec(instep.stdout) ?? [];
  const post = async (body: string) => (await postSigned(address, body)).status;
  return { instep, post };
}

test('a server whose output is closed answers, and exits with 0', async () => {
  const { instep, post } = await startServer();
  instep.process.stdout?.destroy();
  instep.process.stderr?.destroy();
  for (let count = 0; count < 3; count += 1) expect(await post(eventBody())).toBe(200);
  expect(await instep.stop('SIGTERM')).toBe(0);
});

test('a server whose output is not read answers, and exits with 0', async () => {
  const { instep, post } = await startServer();
  instep.process.stdout?.pause();
  // Each is a log line of about 400 bytes, and a pipe holds 64 kB on both sides.
  const type = 'x'.repeat(300);
  for (let round = 0; round < 40; round += 1) {
    const posts = Array.from({ length: 20 }, () => post(eventBody({ type })));
    expect(new Set(await Promise.all(posts))).toEqual(new Set([200]));
  }
  instep.process.stdout?.resume();
  expect(await instep.stop('SIGTERM')).toBe(0);
});
