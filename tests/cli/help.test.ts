import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';
import { isComplete, someOf } from '../support/test-length.ts';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  init: [],
  serve: [],
  console: [],
  demo: [],
  audit: [],
  doctor: [],
  tables: [],
  migrate: [],
  user: ['add'],
  team: ['add', 'link', 'unlink', 'set-plan', 'list', 'show', 'access', 'sync'],
  session: ['issue'],
  trigger: [],
  events: ['list', 'show', 'replay', 'redact'],
  changes: [],
  alerts: ['test'],
  rebuild: [],
  reconcile: [],
};

/** Each command that does something, such as `team add`. */
const LEAVES = Object.entries(COMMANDS).flatMap(([name, subcommands]) =>
  subcommands.length === 0 ? [name] : subcommands.map((one) => `${name} ${one}`),
);

const PAGE = `${ROOT}/docs/commands.md`;

/** The output of a command's --help. */
async function helpOf(command: string): Promise<string> {
  const words = command === '' ? [] : command.split(' ');
  const ended = await runInstep([...words, '--help']);
  // One that is stopped before it has printed also exits with 0.
  expect(ended).toEqual({ code: 0, stdout: expect.stringContaining('Usage:'), stderr: '' });
  return ended.stdout;
}

/** The commands that a help text lists. */
function listed(help: string): (string | undefined)[] {
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z-]+) /gm)]
    .map(([, name]) => name)
    .filter((name) => name !== 'help');
}

/** The text as a code block of the page, without the option that every command has. */
function fenced(help: string): string {
  const own = help.replace(/^ {2}-h, --help .*\n/m, '').replace(/^Options:\n\n/m, '');
  return `\`\`\`\n${own.trimEnd()}\n\`\`\`\n`;
}

/** A command's section. Its heading, arguments and example say how to use it. */
function sectionOf(command: string, help: string): string {
  return `## instep ${command}\n\n${fenced(help.replace(/^Usage: .*\n\n/, ''))}`;
}

test('instep --help lists every command', async () => {
  expect(listed(await helpOf(''))).toEqual(Object.keys(COMMANDS));
});

test.each(
  someOf(
    1,
    Object.entries(COMMANDS).filter(([, { length }]) => length > 0),
  ),
)('instep %s --help lists its commands', async (name, subcommands) =>
  expect(listed(await helpOf(name))).toEqual(subcommands),
);

test.concurrent.each(someOf(3, LEAVES))('the page has what instep %s --help prints', async (one) =>
  expect(readFileSync(PAGE, 'utf8')).toContain(sectionOf(one, await helpOf(one))),
);

// To update the page: npm run docs:cli
test.runIf(isComplete)('the page has nothing else', async () => {
  const introduction =
    '`npx instep --help` lists the commands, and each has `--help`. They read the [same\n' +
    'variables](configuration.md) as the server, and [exit codes](run.md#exit-codes) are the same for all.';
  const helps = await Promise.all(LEAVES.map((one) => helpOf(one)));
  const sections = LEAVES.map((one, index) => sectionOf(one, helps[index] ?? ''));
  const page = ['# Commands', introduction, ...sections];
  await expect(
    `${page
      .join('\n\n')
      .replace(/\n{3,}/g, '\n\n')
      .trimEnd()}\n`,
  ).toMatchFileSnapshot(PAGE);
});
