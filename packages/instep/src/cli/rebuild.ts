// The command that recomputes teams from the log.

import type { Command } from 'commander';
import type { ApplicationId } from '../core/application.ts';
import type { Difference, RebuildFailure } from '../event-log/rebuild.ts';
import { counted } from '../runtime/amounts.ts';
import { applicationId, createCommand } from './arguments.ts';
import { CommandFailed, type Json, planChanges, print, printMessage } from './output.ts';
import { askReason, performTask } from './with-context.ts';

type RebuildOptions = { team?: ApplicationId; dryRun?: boolean } & Json;

export function rebuildCommand(): Command {
  const command = createCommand(
    'rebuild',
    'replay the whole event log, and repair teams that differ from the result',
    'TEAM_PLAN=best instep rebuild --dry-run',
  )
    .option('--team <id>', 'only this team', applicationId)
    .option('--dry-run', 'report differences without repairing them')
    .option('--json', 'print a JSON line for each difference')
    .action(run);
  return askReason(command);
}

async function run({ team, dryRun = false, json }: RebuildOptions): Promise<void> {
  const task = {
    action: 'rebuild',
    teamId: team,
    isDryRun: dryRun,
    onDifference(difference: Difference) {
      print(json ? JSON.stringify(difference) : describe(difference));
    },
    onFailure({ customerId, error: { code, message } }: RebuildFailure) {
      const data = { customerId, error: { code, message } };
      print(json ? JSON.stringify(data) : `customer ${customerId}: not rebuilt: ${message}`);
    },
  } as const;
  const { repaired, kept, failed } = await performTask(task, 'rebuilt');
  const counts = [
    ...(repaired > 0
      ? [`${counted(repaired, 'difference')} ${dryRun ? 'found' : 'repaired'}`]
      : []),
    ...(kept > 0 ? [`kept ${counted(kept, 'row')} that your application wrote`] : []),
  ];
  if (counts.length > 0 || failed === 0) printMessage(counts.join(', ') || 'no differences');
  if (failed > 0) {
    throw new CommandFailed(
      'REBUILD_INCOMPLETE',
      `${counted(failed, 'customer')} could not be rebuilt: run \`instep rebuild\` again when the cause is resolved`,
    );
  }
}

/** `team 7 (cus_1): planName Pro → Team, state of sub_1` */
function describe(difference: Difference): string {
  const { teamId, customerId, is, shouldBe, isKept, subscriptionIds } = difference;
  const states = subscriptionIds.map((id) => `state of ${id ?? 'a subscription without an id'}`);
  const changes = [...planChanges(is, shouldBe), ...states].join(', ');
  const kept = isKept
    ? ` (kept: your application wrote it; run \`instep reconcile --customer ${customerId}\`)`
    : '';
  return `team ${teamId} (${customerId}): ${changes}${kept}`;
}
