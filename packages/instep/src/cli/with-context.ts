// Runs the operators' functions for commands, in the name of the account of the operating system.

import type { Command } from 'commander';
import type { ApplicationId } from 'instep-engine/postgres';
import { createLogger } from 'instep-engine/runtime';
import { type NamedTeam, type OperateContext, type Operator, readTeam } from 'instep-operate';
import type { Config } from '../config/config.ts';
import { openContextIn } from '../operate/open-context.ts';
import { CommandFailed, printMessage } from './output.ts';
import { requireDatabase } from './with-database.ts';

/** What `--reason` of this process's command says. */
let reason: string | undefined;

/** A command that acts as an operator: the audit keeps why. */
export function askReason(command: Command): Command {
  return command.option('--reason <text>', 'why, for the audit').hook('preAction', (_, acting) => {
    reason = acting.opts<{ reason?: string }>().reason;
  });
}

/**
 * Runs functions of `instep/operate` on the migrated database, for the account of the operating system, with or without
 * a running server. For those that ask Stripe, `stripeApi` says how. Only those that add something create the embedded
 * database.
 *
 * @throws ConfigInvalid if there is none
 */
export async function withContext<Result>(
  work: (context: OperateContext, operator: Operator) => Promise<Result>,
  stripeApi: Config['stripeApi'] | null = null,
  { createsDatabase = false } = {},
): Promise<Result> {
  if (!createsDatabase) await requireDatabase();
  const logger = createLogger('warn', { write: (line) => void process.stderr.write(line) });
  const context = await openContextIn(process.env, { stripeApi, logger, notice: printMessage });
  const name = `uid:${process.getuid?.() ?? 'unknown'}`;
  try {
    return await work(context, { name, how: 'command', ...(reason !== undefined && { reason }) });
  } finally {
    await context.close();
  }
}

/** @throws CommandFailed if there is no such team */
export async function requireTeam(context: OperateContext, id: ApplicationId): Promise<NamedTeam> {
  const team = await readTeam(context, id);
  if (team === null)
    throw new CommandFailed('NOT_FOUND', `there is no team ${id} (all: instep team list)`);
  return team;
}

/** @throws CommandFailed if the team has no customer */
export function customerOf({ id, customerId }: NamedTeam): string {
  if (customerId !== null) return customerId;
  const command = `instep team link ${id} --customer CUS`;
  throw new CommandFailed('TEAM_NOT_LINKED', `team ${id} has no customer. Link it: ${command}`);
}
