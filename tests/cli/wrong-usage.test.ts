import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';

test.concurrent.each([
  ['nothing', '', /Usage: instep/],
  ['a command that there is not', 'sevre', /unknown command 'sevre'/],
  ['an option that there is not', 'serve --port 1', /unknown option '--port'/],
  ['a missing option', 'user add', /required option '--email <email>'/],
  ['a missing argument', 'user show', /missing required argument 'id'/],
  [
    'an outcome that there is not',
    'events list --outcome lost',
    /Allowed choices are applied, stale/,
  ],
  ['a type that there is not', 'events list --type invoice.paid', /choices are customer\.subscr/],
  ['a time that is none', 'events list --since yesterday', /must be a time ago, such as 2h/],
  ['a date that is none', 'events list --since 2026-13-01', /must be a time ago, such as 2h/],
  ['a local time', 'events list --since 2026-05-31T10:00', /must be a time ago, such as 2h/],
  ['no event at all', 'events list --limit 0', /whole number from 1/],
  ['two customers', 'events list --team 1 --customer cus_1', /cannot be used with/],
  ['nothing to show', 'events show', /missing required argument 'event'/],
  ['nothing to replay', 'events replay', /name one event, or --outcome/],
  ['two ways to replay', 'events replay 1 --since 1d', /name one event, or --outcome/],
  ['an age that is none', 'events prune --older-than 90', /must be a time such as 90d/],
  ['no age', 'events prune --older-than 0d', /must be a time such as 90d/],
  ['an id that is no number', 'team show +1', /'\+1' is invalid.*whole number from 1/],
])('%s: exit code 2, and where to find what is right', async (_, command, message) => {
  const { code, stdout, stderr } = await runInstep(command.split(' ').filter((word) => word));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/--help/);
  expect(stderr).not.toMatch(/^\s+at /m);
});
