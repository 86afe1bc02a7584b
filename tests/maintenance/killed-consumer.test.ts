import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test, vi } from 'vitest';
import { atEndOfFile } from '../support/end-of-file.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { createFolder, SETTINGS } from '../support/process/instep-process.ts';
import { INSTEP } from '../support/repository.ts';
import { repetitions } from '../support/test-length.ts';

const { database, url } = await createDatabase();

const folder = createFolder();
mkdirSync(join(folder, 'node_modules'));
symlinkSync(INSTEP, join(folder, 'node_modules/instep'));

/** A process that prints each change, and then takes a moment before the change counts as handled. */
writeFileSync(
  join(folder, 'consumer.mjs'),
  `import { setTimeout as sleep } from 'node:timers/promises';
   import { createHandler } from 'instep';
   const handler = createHandler({ maintenance: 'off' });
   handler.onPlanChange('mailer', async ({ id }) => {
     process.stdout.write(\`\${id}\\n\`);
     await sleep(5);
   }, { from: 'beginning' });
   setInterval(() => undefined, 1_000);`,
);

const printed: { by: number; id: number }[] = [];

function start(by: number): ChildProcess {
  const child = spawn(process.execPath, ['consumer.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...SETTINGS, LOG_LEVEL: 'silent', DATABASE_URL: url.href },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEndOfFile(() => void child.kill('SIGKILL'));
  createInterface({ input: child.stdout ?? process.stdin }).on('line', (line) => {
    if (/^\d+$/.test(line)) printed.push({ by, id: Number(line) });
  });
  return child;
}

async function write(count: number): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `insert into instep.plan_changes (team_id, cause, subscription_status_after)
     select n % 3, 'event', 'active' from generate_series(1, $1) as n
     returning id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

test('after a kill -9, another process goes on where the killed one was', async () => {
  const ids = await write(60);
  const children = [start(0), start(1)];
  const waitFor = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 20 });
  for (let kill = 0; kill < repetitions(1, 3); kill += 1) {
    const before = printed.length;
    await waitFor(() => expect(printed.length).toBeGreaterThan(before + 10));
    const { by } = printed.at(-1) ?? { by: 0 };
    const killed = children[by];
    killed?.kill('SIGKILL');
    await once(killed ?? process, 'close');
    children[by] = start(by);
    ids.push(...(await write(20)));
  }
  await waitFor(() => expect(new Set(printed.map(({ id }) => id)).size).toBe(ids.length));
  const first = [...new Set(printed.map(({ id }) => id))];
  expect(first).toEqual(ids);
  // Each kill repeats at most the change that was being handled.
  expect(printed.length).toBeLessThanOrEqual(ids.length + repetitions(1, 3));
}, 120_000);
