import { describe, expect, test } from 'vitest';
import { runInstep } from '../support/process/instep-process.ts';
import { someOf } from '../support/test-length.ts';

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
  team: ['add', 'link', 'unlink', 'list', 'show', 'history', 'access', 'sync'],
  checkout: ['complete'],
  session: ['issue'],
  trigger: [],
  events: ['list', 'show', 'replay', 'dismiss', 'redact'],
  changes: [],
  alerts: ['test'],
  rebuild: [],
  reconcile: [],
};

const helps = new Map<string, Promise<string>>();

/** The output of a command's --help. Each command runs once. */
async function helpOf(...command: readonly string[]): Promise<string> {
  const key = command.join(' ');
  const help = helps.get(key) ?? runHelp(command);
  helps.set(key, help);
  return await help;
}

async function runHelp(command: readonly string[]): Promise<string> {
  const ended = await runInstep([...command, '--help']);
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

/** The text as a code block of a page. */
const fenced = (help: string) => `\`\`\`\n${help.trimEnd()}\n\`\`\`\n`;

// To update the pages in docs/cli: npm run docs:cli
test('instep --help lists every command and is what docs/cli shows', async () => {
  const help = await helpOf();
  expect(listed(help)).toEqual(Object.keys(COMMANDS));
  const links = Object.keys(COMMANDS).map((name) => `[${name}](${name}.md)`);
  const pages = `${links.join(', ')}.\n[The walkthrough](walkthrough.md) shows the output of some commands.`;
  const page = `# instep\n\n${fenced(help)}\nPages: ${pages}\n`;
  await expect(page).toMatchFileSnapshot('../../docs/cli/README.md');
});

describe.concurrent.each(someOf(3, Object.entries(COMMANDS)))(
  'instep %s --help',
  (name, subcommands) => {
    test('is what the page in docs/cli shows', async ({ expect }) => {
      const commands = [[name], ...subcommands.map((one) => [name, one])];
      const helps = await Promise.all(commands.map((words) => helpOf(...words)));
      const sections = commands.map((words, index) => {
        const heading = `${index === 0 ? '#' : '##'} instep ${words.join(' ')}`;
        return `${heading}\n\n${fenced(helps[index] ?? '')}`;
      });
      await expect(sections.join('\n')).toMatchFileSnapshot(`../../docs/cli/${name}.md`);
    });
  },
);
