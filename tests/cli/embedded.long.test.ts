import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { hasServer, serverPid, waitForEnd } from '../embedded-postgres/data-folders.ts';
import {
  createFolder,
  runInstep,
  SETTINGS,
  spawnInstep,
  startInstep,
} from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';

/** Runs commands on an embedded database of their own. */
function useEmbedded() {
  const dataFolder = join(createFolder(), 'data');
  const environment = { INSTEP_DATA: dataFolder };
  return {
    dataFolder,
    environment,
    /** The command's JSON output. */
    async run(command: string, more: Record<string, string> = {}) {
      const ended = await runInstep([...command.split(' '), '--json'], { ...environment, ...more });
      expect(ended.code, ended.stderr).toBe(0);
      return JSON.parse(ended.stdout);
    },
    async startServer() {
      const instep = await startInstep(environment);
      onTestFinished(async () => {
        await instep.stop();
      });
      return instep;
    },
  };
}

test('a command without a server starts the database and stops it again', async () => {
  const { dataFolder, run } = useEmbedded();
  const { id, name } = await run('team add --name Acme');
  expect(await hasServer(dataFolder)).toBe(false);
  // The team is stored: this command starts the database again.
  expect(await run(`team show ${id}`)).toMatchObject({ id, name });
  expect(await hasServer(dataFolder)).toBe(false);
});

test('a command that only reads creates no database', async () => {
  const { dataFolder, environment } = useEmbedded();
  mkdirSync(join(dataFolder, 'demo'), { recursive: true });
  for (const command of ['events show evt_1', 'team list']) {
    const refused = await runInstep(command.split(' '), environment);
    const stderr = expect.stringContaining(`there is no database in ${dataFolder}: set`);
    expect(refused).toEqual({ code: 2, stdout: '', stderr });
  }
  expect(readdirSync(dataFolder)).toEqual(['demo']);
});

test('a command that fails stops the database as well', async () => {
  const { dataFolder, environment, run } = useEmbedded();
  await run('user add --email ada@example.com');
  expect(await runInstep(['team', 'show', '4711'], environment)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'instep: there is no team 4711 (all: instep team list) [NOT_FOUND]\n',
  });
  expect(await hasServer(dataFolder)).toBe(false);
});

test('commands share the database of a running server, and leave it running', async () => {
  const { dataFolder, run, startServer } = useEmbedded();
  const instep = await startServer();
  const pid = await serverPid(dataFolder);
  const team = await run('team add --name Acme');
  await run(`team link ${team.id} --customer cus_1`);
  const target = { STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, PORT: new URL(instep.url).port };
  const type = 'customer.subscription.updated';
  expect(await run(`trigger ${type} --customer cus_1`, target)).toMatchObject({ status: 200 });
  expect(await run(`team show ${team.id}`)).toMatchObject({ subscriptionStatus: 'active' });
  expect(await serverPid(dataFolder)).toBe(pid);
  expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
});

test('the server stops the database, which keeps what was written', async () => {
  const { dataFolder, run, startServer } = useEmbedded();
  const instep = await startServer();
  const { id } = await run('team add --name Acme');
  await run(`team link ${id} --customer cus_1`);
  expect(await instep.stop()).toBe(0);
  expect(await hasServer(dataFolder)).toBe(false);
  expect(await run(`team show ${id}`)).toMatchObject({ providerCustomerId: 'cus_1' });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s during the start stops the database',
  async (signal) => {
    const { dataFolder, environment } = useEmbedded();
    const instep = spawnInstep(['serve'], { ...SETTINGS, ...environment });
    while (!(await hasServer(dataFolder))) await sleep(1);
    const pid = await serverPid(dataFolder);
    expect(await instep.stop(signal)).toBe(0);
    await waitForEnd(pid);
    expect(await hasServer(dataFolder)).toBe(false);
  },
);
