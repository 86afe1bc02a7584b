#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { ConfigInvalid } from '../config/config.ts';
import { InstepError } from '../runtime/errors.ts';
import { tell } from './output.ts';

const FAILED = 1;
const WRONG_USAGE = 2;

/** Each is loaded when it is asked for: what one of them needs, another one has no use for. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve/command.ts')).serveCommand(),
  demo: async () => (await import('./demo/command.ts')).demoCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  user: async () => (await import('./user.ts')).userCommand(),
  team: async () => (await import('./team.ts')).teamCommand(),
  session: async () => (await import('./session.ts')).sessionCommand(),
  trigger: async () => (await import('./trigger.ts')).triggerCommand(),
  events: async () => (await import('./events/command.ts')).eventsCommand(),
  rebuild: async () => (await import('./rebuild.ts')).rebuildCommand(),
  reconcile: async () => (await import('./reconcile.ts')).reconcileCommand(),
};

async function createProgram(asked: string | undefined): Promise<Command> {
  const program = new Command('instep')
    .description(
      "Keeps each team's subscription in sync with Stripe, and serves the signed-in user's profile.",
    )
    .version(version())
    .addHelpText('after', '\nExample:\n  instep demo');
  const one = asked !== undefined && Object.hasOwn(COMMANDS, asked) ? COMMANDS[asked] : undefined;
  const loaders = one === undefined ? Object.values(COMMANDS) : [one];
  const commands = await Promise.all(loaders.map((load) => load()));
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...commands, ...commands.flatMap((one) => one.commands)]) {
    command.exitOverride().showHelpAfterError('(add --help for more)');
  }
  return program;
}

function version(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(file) as { version: string };
  return version;
}

/** 0: done; 1: failed; 2: wrong usage, of the command line or of the configuration. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof InstepError) tell(`instep: ${withCode(error)}`);
  else if (isOfSystem(error)) tell(`instep: ${error.message}`);
  else tell(`instep: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return error instanceof ConfigInvalid ? WRONG_USAGE : FAILED;
}

/** The message with its code (docs/errors.md) at the end of the first line. */
function withCode({ message, code }: InstepError): string {
  const [first, ...others] = message.split('\n');
  return [`${first} [${code}]`, ...others].join('\n');
}

/** Whether a file, a folder or an address was refused: its message says all, and a stack nothing. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

/** A file `.env` in the current folder counts, after what the environment says. */
function loadDotEnv(): void {
  try {
    process.loadEnvFile('.env');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

// Whoever reads our output may stop at any line, as `head` does, or as a terminal that is closed:
// what we do comes to its end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
});

try {
  loadDotEnv();
  await (await createProgram(process.argv[2])).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
