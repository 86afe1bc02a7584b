import { expect, test } from 'vitest';
import { runInstep } from '../support/instep-process.ts';

test.concurrent.each([
  ['nothing', '', /Usage: instep/],
  ['a command that there is not', 'sevre', /unknown command 'sevre'/],
  ['an option that there is not', 'serve --port 1', /unknown option '--port'/],
  ['a missing option', 'user add', /required option '--email <email>'/],
  ['a missing argument', 'user show', /missing required argument 'id'/],
  ['an id that is no number', 'team show +1', /'\+1' is invalid.*whole number from 1/],
])('%s: exit code 2, and where to find what is right', async (_, command, message) => {
  const { code, stdout, stderr } = await runInstep(command.split(' ').filter((word) => word));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/--help/);
  expect(stderr).not.toMatch(/^\s+at /m);
});
