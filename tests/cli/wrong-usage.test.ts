import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { someOf } from '../support/test-length.ts';

const WRONG = [
  ['no command', '', /Usage: instep/],
  ['an unknown command', 'sevre', /unknown command 'sevre'/],
  ['an unknown option', 'serve --port 1', /unknown option '--port'/],
  ['a missing option', 'user add', /required option '--email <email>'/],
  ['an unknown outcome', 'events list --outcome lost', /Allowed choices are applied, unchanged/],
  ['two customers', 'events list --team 1 --customer cus_1', /cannot be used with/],
  ['replay without an event', 'events replay', /give one event, or --outcome/],
  [
    'replay with an event and a filter',
    'events replay 1 --outcome stale',
    /give one event, or --outcome/,
  ],
  ['an invalid number', 'events list --limit +1', /'\+1' is invalid.*whole number from 1/],
] as const;

test.concurrent.each(someOf(7, WRONG))(
  '%s exits with 2 and points to --help',
  async (_, command, message) => {
    const { code, stdout, stderr } = await runInstep(command.split(' ').filter((word) => word));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/--help/);
    expect(stderr).not.toMatch(/^\s+at /m);
  },
);
