import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFolder, runInstep, startInstep } from '../support/process/instep-process.ts';
import { AUTH_SECRET, WEBHOOK_SECRET } from '../support/secrets/canaries.ts';

const folder = createFolder();

const environment = { INSTEP_DATA: join(folder, 'data') };

/** What a command printed as JSON, on the embedded database. */
async function run(command: string, more: Record<string, string> = {}) {
  const ended = await runInstep([...command.split(' '), '--json'], { ...environment, ...more });
  expect(ended.code, ended.stderr).toBe(0);
  return JSON.parse(ended.stdout);
}

/** The tests of this file build on each other. */
let user: { id: number; email: string };
let team: { id: number };

test('without a server a command starts the database, and stops it again', async () => {
  user = await run('user add --email ada@example.com');
});

test('while a server runs they work beside it', async () => {
  const instep = await startInstep(environment);
  onTestFinished(async () => {
    await instep.stop();
  });
  const { cookie } = await run(`session issue --user ${user.id}`, { AUTH_SECRET });
  const profile = await fetch(`${instep.url}/api/user`, { headers: { cookie } });
  expect(await profile.json()).toMatchObject(user);

  team = await run('team add --name Acme');
  await run(`team link ${team.id} --customer cus_1`);
  const target = { STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, PORT: new URL(instep.url).port };
  const type = 'customer.subscription.updated';
  expect(await run(`trigger ${type} --customer cus_1`, target)).toMatchObject({ status: 200 });
  expect(await run(`team show ${team.id}`)).toMatchObject({ subscriptionStatus: 'active' });
  expect((await fetch(`${instep.url}/readyz`)).status).toBe(200);
  expect(await instep.stop()).toBe(0);
}, 60_000);

test('after the server all of it is still there', async () => {
  expect(await run(`team show ${team.id}`)).toMatchObject({
    providerCustomerId: 'cus_1',
    subscriptionStatus: 'active',
  });
  const failed = await runInstep(['user', 'show', '4711'], environment);
  expect(failed).toEqual({
    code: 1,
    stdout: '',
    stderr: 'instep: there is no user 4711 [NOT_FOUND]\n',
  });
});
