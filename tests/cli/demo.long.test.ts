import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder, runInstep, spawnInstep } from '../support/process/instep-process.ts';

const folder = createFolder();
const environment = { PORT: '0', OPS_PORT: '0', INSTEP_DATA: folder };

test('--once shows everything, and ends', async () => {
  const { code, stdout, stderr } = await runInstep(['demo', '--once'], environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect([...stdout.matchAll(/^ \d\. .*? {2}(\d{3}) /gm)].map(([, status]) => status)).toEqual([
    ...Array<string>(8).fill('200'),
    '400',
  ]);
});

test('the next steps work when pasted, and Ctrl-C ends the demo', async () => {
  const demo = spawnInstep(['demo'], environment);
  await demo.writes(/Console.*\n/);
  const [, url = '', cookie = ''] = /curl -i (\S+\/api\/user) -b '(.*?)'/.exec(demo.stdout) ?? [];
  const profile = await fetch(url, { headers: { cookie } });
  expect(await profile.json()).toMatchObject({ name: 'Ada' });

  const [, secret = '', port = '', args = ''] =
    /STRIPE_WEBHOOK_SECRET=(\S+) PORT=(\d+) \\\n +INSTEP_DATA=\S+ npx instep (.*)/.exec(
      demo.stdout,
    ) ?? [];
  const data = { INSTEP_DATA: join(folder, 'demo') };
  const target = { STRIPE_WEBHOOK_SECRET: secret, PORT: port, ...data };
  const triggered = await runInstep(args.split(' '), target);
  expect(triggered.code).toBe(0);
  const [, shows = ''] = /^→ npx instep (events show evt_\w+) /.exec(triggered.stderr) ?? [];
  expect(await runInstep(shows.split(' '), data)).toMatchObject({ code: 0 });
  const [, id = ''] = /npx instep team show (\d+)/.exec(demo.stdout) ?? [];
  const shown = await runInstep(['team', 'show', id], data);
  expect(shown.stdout).toMatch(/^planName +Pro$/m);

  const [, console = ''] = /Console, .*: (\S+)/.exec(demo.stdout) ?? [];
  expect(await (await fetch(console)).text()).toContain('<h1>Overview</h1>');
  expect(await (await fetch(`${console}teams`)).text()).toContain('Bluebell Bakery');

  const second = await runInstep(['demo'], environment);
  expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('is still running') });
  expect(await demo.stop('SIGINT')).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
  await expect(fetch(console)).rejects.toThrow();
});
