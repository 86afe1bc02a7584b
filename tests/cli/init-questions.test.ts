import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStarterApp, STARTER_FILES } from '../support/init/starter-app.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInTerminal } from '../support/process/terminal.ts';
import { AUTH_SECRET, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';

const { url } = await createDatabase();

const VARIABLES = `DATABASE_URL=${url.href}
AUTH_SECRET=${AUTH_SECRET}
STRIPE_API_BASE=http://127.0.0.1:1
STRIPE_WEBHOOK_SECRET=${WEBHOOK_SECRET}
`;

const WAY = /Run it inside or beside the app\? \[inside\] $/;
const APPLY = /Apply this\? \[y\/N\] $/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';

const wayOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, '.instep-init.json'), 'utf8')).way;

test('asks for the way until the answer is one, and applies after a yes', async () => {
  const folder = createStarterApp(VARIABLES);
  const { code, output } = await runInTerminal(['init'], folder, [
    [WAY, 'outside\r'],
    [WAY, 'beside\r'],
    [APPLY, 'y\r'],
  ]);
  expect(code).toBe(0);
  expect(output.match(/Run it inside or beside the app\?/g)).toHaveLength(2);
  expect(output).toContain('+++ next.config.ts');
  expect(output).toContain('What is next');
  expect(wayOf(folder)).toBe('beside');

  const undone = await runInTerminal(['init', '--undo'], folder, [[APPLY, 'yes\r']]);
  expect(undone).toMatchObject({ code: 0, output: expect.stringContaining('Undone.') });
  expect(existsSync(join(folder, '.instep-init.json'))).toBe(false);
});

test('the default is inside', async () => {
  const folder = createStarterApp(VARIABLES);
  const typed = [
    [WAY, '\r'],
    [APPLY, 'Y\r'],
  ] as const;
  expect(await runInTerminal(['init'], folder, typed)).toMatchObject({ code: 0 });
  expect(wayOf(folder)).toBe('inside');
});

test.each([
  ['Enter', APPLY, '\r'],
  ['no', APPLY, 'no\r'],
  ['Ctrl-C', APPLY, CTRL_C],
  ['Ctrl-D', APPLY, CTRL_D],
  ['Ctrl-C for the way', WAY, CTRL_C],
  ['Ctrl-D for the way', WAY, CTRL_D],
])('changes nothing after %s', async (_, question, text) => {
  const folder = createStarterApp(VARIABLES);
  const typed =
    question === WAY ? [[WAY, text] as const] : [[WAY, '\r'] as const, [APPLY, text] as const];
  const { code, output } = await runInTerminal(['init'], folder, typed);
  expect(code).toBe(1);
  expect(output).toContain('nothing was changed');
  expect(existsSync(join(folder, '.instep-init.json'))).toBe(false);
  for (const [path, file] of Object.entries(STARTER_FILES)) {
    expect(readFileSync(join(folder, path), 'utf8')).toBe(file);
  }
});
