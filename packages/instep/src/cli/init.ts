// The command `instep init`. What it does is in the package create-instep, because an app needs it only once.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Command, Option } from 'commander';
import { importOptional, VERSION } from '../runtime/packages.ts';
import { createCommand } from './arguments.ts';
import { CommandFailed } from './output.ts';

export type InitOptions = Partial<
  Record<'inside' | 'beside' | 'serverless' | 'yes' | 'undo', boolean>
>;

/** The package `create-instep`. */
type CreatePackage = { runInit(options: InitOptions): Promise<void> };

export function initCommand(): Command {
  return createCommand(
    'init',
    'connect Instep with the app in this folder; shows all changes first',
    'npx instep init --beside',
  )
    .addOption(new Option('--inside', 'run Instep inside the app').conflicts('beside'))
    .option('--beside', 'run Instep beside the app, as a process of its own')
    .option('--serverless', 'the app runs in functions: add a route for a scheduler')
    .option('--yes', 'do not ask')
    .option('--undo', 'reverse what this command has changed')
    .action(runInit);
}

/** @throws CommandFailed if the package is missing and can't be fetched; the errors of the package */
async function runInit(options: InitOptions): Promise<void> {
  const found = await importOptional<CreatePackage>('create-instep');
  if (found !== null) return await found.runInit(options);
  const given = Object.entries(options).flatMap(([name, isOn]) => (isOn ? `--${name}` : []));
  const command = ['npm exec --yes', `create-instep@${VERSION}`, '--', ...given].join(' ');
  // A shell, because on Windows npm is a script. The command has no text of the user's.
  const child = spawn(command, { stdio: 'inherit', shell: true });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new CommandFailed('INIT_REFUSED', `\`${command}\` has ended with ${code}`);
}
