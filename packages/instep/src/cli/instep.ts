#!/usr/bin/env node

// The program `instep`: reads the variables of `.env`, loads the named command, and turns errors into exit codes.

import { type Command, CommanderError } from 'commander';
import { CHECK_CONNECTION, isOfConnection } from 'instep-engine/postgres';
import { InstepError } from 'instep-engine/runtime';
import { ConfigInvalid } from '../config/config.ts';
import { VERSION } from '../runtime/packages.ts';
import { createCommand } from './arguments.ts';
import { printableLines, printMessage } from './output.ts';
import { loadVariableFiles } from './variable-files.ts';

const FAILED = 1;
const DRIFT_LEFT = 3;
const WRONG_USAGE = 2;

/** Each command is loaded only when it is used, because each needs different modules. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./init.ts')).initCommand(),
  serve: async () => (await import('./serve.ts')).serveCommand(),
  console: async () => (await import('./serve.ts')).consoleCommand(),
  demo: async () => (await import('./demo/command.ts')).demoCommand(),
  audit: async () => (await import('./audit.ts')).auditCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  tables: async () => (await import('./schema.ts')).tablesCommand(),
  migrate: async () => (await import('./schema.ts')).migrateCommand(),
  user: async () => (await import('./user.ts')).userCommand(),
  team: async () => (await import('./team.ts')).teamCommand(),
  session: async () => (await import('./user.ts')).sessionCommand(),
  trigger: async () => (await import('./trigger.ts')).triggerCommand(),
  events: async () => (await import('./events.ts')).eventsCommand(),
  changes: async () => (await import('./changes.ts')).changesCommand(),
  alerts: async () => (await import('./doctor.ts')).alertsCommand(),
  rebuild: async () => (await import('./reconcile.ts')).rebuildCommand(),
  reconcile: async () => (await import('./reconcile.ts')).reconcileCommand(),
};

async function createProgram(name: string | undefined): Promise<Command> {
  const program = createCommand(
    'instep',
    "Keeps each team's subscription in sync with Stripe, and serves the signed-in user's profile.",
    'instep demo',
  ).version(VERSION);
  const load = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  const loaders = load === undefined ? Object.values(COMMANDS) : [load];
  const commands = await Promise.all(loaders.map((load) => load()));
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...commands, ...commands.flatMap(({ commands }) => commands)]) {
    command.exitOverride().showHelpAfterError('(add --help for more)');
  }
  return program;
}

/** 0: done; 1: failed; 2: wrong command line or configuration; 3: drift was left. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof InstepError) printMessage(`instep: ${withCode(error)}`);
  else if (isSystemError(error)) printMessage(`instep: ${error.message}`);
  else
    printMessage(
      `instep: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  const hasUrl = process.env.DATABASE_URL || process.env.POSTGRES_URL;
  if (hasUrl && isOfConnection(error)) printMessage(`→ ${CHECK_CONNECTION}`);
  if (error instanceof InstepError && error.code === 'DRIFT_LEFT') return DRIFT_LEFT;
  return error instanceof ConfigInvalid ? WRONG_USAGE : FAILED;
}

/** The message with its code (docs/errors.md) at the end of the first line. It can quote texts of anybody. */
function withCode({ message, code }: InstepError): string {
  const [first, ...others] = printableLines(message).split('\n');
  return [`${first} [${code}]`, ...others].join('\n');
}

/** Whether the operating system refused a file, a folder or an address. A stack trace would not help. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

// A reader such as `head` can close the output at any line. The command still finishes its work.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
});

// `pg` detects its platform by `navigator`. Where it is missing, as in Node 20, `pg` loads Node's `fetch`,
// which takes a tenth of the startup time.
if (!('navigator' in globalThis)) {
  Object.assign(globalThis, { navigator: { userAgent: `Node.js/${process.versions.node}` } });
}

try {
  loadVariableFiles(process.cwd());
  await (await createProgram(process.argv[2])).parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
