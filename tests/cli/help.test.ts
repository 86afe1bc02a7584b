import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';
import { isComplete } from '../support/test-length.ts';

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
function listed(help: string): string[] {
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z-]+) /gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
}

/** The sections of the commands that do something, such as `team add`. */
async function sectionsOf(command: string): Promise<string[]> {
  const help = await helpOf(command);
  const names = listed(help);
  if (names.length === 0) return [sectionOf(command, help)];
  const found = await Promise.all(names.map((name) => sectionsOf(`${command} ${name}`.trim())));
  return found.flat();
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

// To update the page: npm run docs:cli
test.runIf(isComplete)('the page has what each command prints with --help', async () => {
  const introduction =
    '`npx instep --help` lists the commands, and each has `--help`. They read the [same\n' +
    'variables](configuration.md) as the server, and [exit codes](run.md#exit-codes) are the same for all.';
  const page = ['# Commands', introduction, ...(await sectionsOf(''))];
  await expect(
    `${page
      .join('\n\n')
      .replace(/\n{3,}/g, '\n\n')
      .trimEnd()}\n`,
  ).toMatchFileSnapshot(PAGE);
});

test.skipIf(isComplete)('the page has what one command prints with --help', async () => {
  const page = readFileSync(PAGE, 'utf8');
  for (const section of await sectionsOf('alerts')) expect(page).toContain(section);
});
