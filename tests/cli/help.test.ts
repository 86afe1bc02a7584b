import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';

const COMMANDS = [
  '',
  'serve',
  'demo',
  'doctor',
  'migrate',
  'events',
  'events list',
  'events show',
  'events replay',
  'events prune',
  'rebuild',
  'reconcile',
  'user',
  'user add',
  'user show',
  'team',
  'team add',
  'team link',
  'team show',
  'session',
  'session issue',
  'trigger',
];
const words = (command: string) => command.split(' ').filter((word) => word !== '');

test.concurrent.each(COMMANDS)('instep %s --help has an example', async (command) => {
  const { code, stdout, stderr } = await runInstep([...words(command), '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: instep/);
  const [, example = ''] = stdout.split('\nExample:\n');
  expect(example).toContain(`instep ${command}`.trimEnd());
});

test('this test knows every command', async () => {
  const { stdout } = await runInstep(['--help']);
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(stdout) ?? [];
  const names = [...list.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  const known = COMMANDS.flatMap((command) => words(command).slice(0, 1));
  expect(new Set(names)).toEqual(new Set([...known, 'help']));
});
