import { expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS, spawnInstep, startInstep } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

/** Defects that SIGUSR2 triggers, because no test knows a real one. */
const DEFECTS = {
  'an unhandled rejection': "void Promise.reject(new RangeError('planted'))",
  'an uncaught exception': "throw new RangeError('planted')",
};

function plant(statement: string): Record<string, string> {
  const script = `process.on('SIGUSR2', () => { ${statement}; });`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

async function start(environment: Record<string, string> = {}) {
  const { url, database } = await createDatabase();
  const instep = await startInstep({ DATABASE_URL: url.href, ...environment });
  const countEvents = async () => (await database.query('select from instep.events')).length;
  return { instep, countEvents, close: () => database.close() };
}

test.each(Object.entries(DEFECTS))(
  '%s exits with 1 and a reason, and answered events are stored',
  async (_, statement) => {
    const { instep, countEvents, close } = await start(plant(statement));
    expect((await instep.post(eventBody())).status).toBe(200);
    expect(await instep.stop('SIGUSR2')).toBe(1);
    expect(JSON.parse(instep.lines.at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      msg: 'unexpected error',
      err: { name: 'RangeError', message: 'planted' },
    });
    expect(await countEvents()).toBe(1);
    await close();
  },
);

test('SIGHUP stops the server cleanly, even if it is sent twice', async () => {
  const { instep, close } = await start({ SHUTDOWN_DELAY_MS: '500' });
  const exit = instep.stop('SIGHUP');
  await instep.logged({ msg: 'shutting down', signal: 'SIGHUP' });
  instep.process.kill('SIGHUP');
  expect(await exit).toBe(0);
  await close();
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s ends a server that waits for its database at once',
  async (signal) => {
    const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none';
    const instep = spawnInstep(['serve'], { ...SETTINGS, DATABASE_URL });
    await instep.writes(/"waiting for the database"/);
    expect(await instep.stop(signal)).toBe(0);
    expect(instep.stdout).toMatch(/"stopped before it was ready"\}\n$/);
  },
);
