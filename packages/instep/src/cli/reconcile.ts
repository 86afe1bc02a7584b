// The commands that find teams out of sync and repair them, by what Stripe has or by the log, with the words for that.

import type { Command } from 'commander';
import type { ApplicationId } from 'instep-engine/postgres';
import type { Counts, Difference, RebuildFailure, ReconciliationIssue } from 'instep-engine/repair';
import { PLAN_FIELDS, type PlanInRow } from 'instep-engine/rule';
import { codeOf, counted, countText } from 'instep-engine/runtime';
import { rebuildTeams, reconcileTeams } from 'instep-operate';
import { readPart } from '../config/config.ts';
import { applicationId, createCommand } from './arguments.ts';
import { CommandFailed, type Json, print, printMessage, shownTime, stopSignal } from './output.ts';
import { askReason, withContext } from './with-context.ts';

type Options = { dryRun?: boolean; customer?: string } & Json;

export function reconcileCommand(): Command {
  const command = createCommand(
    'reconcile',
    'compare all teams with Stripe; report and repair drift',
    'instep reconcile --dry-run',
  )
    .option('--dry-run', 'report drift without repairing it')
    .option('--customer <id>', 'only this customer')
    .option('--json', 'print a JSON line for each issue, and one for the counts')
    .action(reconcile);
  return askReason(command);
}

async function reconcile({ dryRun = false, customer, json }: Options): Promise<void> {
  const request = {
    customerId: customer,
    isDryRun: dryRun,
    signal: stopSignal(),
    onIssue(issue: ReconciliationIssue) {
      print(json ? JSON.stringify(issue) : describeIssue(issue));
    },
  };
  const counts = await withContext(
    (context, operator) => reconcileTeams(context, operator, request),
    readPart('stripeApi', process.env),
  );

  if (json) print(JSON.stringify({ kind: 'counts', ...counts }));
  else printMessage(describeCounts(counts));
  const left = describeLeft(counts, dryRun);
  if (left !== null) throw new CommandFailed('DRIFT_LEFT', left);
}

/** What the command leaves for an operator, the most severe first; `null`: nothing. */
function describeLeft(counts: Counts, isDryRun: boolean): string | null {
  const { drifts, repaired, unknownCustomers } = counts;
  const left = drifts - repaired;
  if (left > 0) {
    const [verb, them] = left === 1 ? ['is', 'it'] : ['are', 'them'];
    const hint = isDryRun ? `: to repair ${them}, run without --dry-run` : '';
    return `${counted(left, 'team')} ${verb} out of sync with Stripe${hint}`;
  }
  if (unknownCustomers > 0) {
    const remedy = 'link others, or check the account and the mode of STRIPE_SECRET_KEY';
    return `Stripe does not know the customers of ${counted(unknownCustomers, 'team')}: ${remedy}`;
  }
  return null;
}

function describeIssue(issue: ReconciliationIssue): string {
  switch (issue.kind) {
    case 'drift': {
      const { subscriptionIds: ids, cause, sinceSeconds } = issue;
      const why = ids.length === 0 ? cause : `${ids.join(', ')}: ${cause}`;
      const since = sinceSeconds === null ? '' : `, since ${shownTime(sinceSeconds * 1_000)}`;
      return `${describeChange(issue)} (${why}${since})`;
    }
    case 'customer without a team':
      return `customer ${issue.customerId} has no team (${issue.statuses.join(', ')})`;
    case 'unknown customer':
      return `team ${issue.teamId}: Stripe does not know its customer ${issue.customerId}`;
  }
}

/** `team 7 (cus_1): planName Pro → -, subscriptionStatus active → canceled` */
function describeChange({ teamId, customerId, is, shouldBe }: Omit<Difference, 'subscriptionIds'>) {
  const shown = (plan: PlanInRow, { name, type }: (typeof PLAN_FIELDS)[number]) => {
    const value = plan[name] ?? '-';
    return type === 'timestamptz' && typeof value === 'number' ? shownTime(value * 1_000) : value;
  };
  const changes = PLAN_FIELDS.filter(({ name }) => is[name] !== shouldBe[name]).map(
    (field) => `${field.name} ${shown(is, field)} → ${shown(shouldBe, field)}`,
  );
  return `team ${teamId} (${customerId}): ${changes.join(', ') || 'the stored state'}`;
}

/** `subscriptions 4, unreadable 0, teams 4, drifts 1, …` */
function describeCounts(counts: Counts): string {
  const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return Object.entries(counts)
    .map(([name, count]) => `${words(name)} ${countText(count)}`)
    .join(', ');
}

type RebuildOptions = { team?: ApplicationId; dryRun?: boolean } & Json;

export function rebuildCommand(): Command {
  const command = createCommand(
    'rebuild',
    'fold the whole event log, and repair teams that differ from the result',
    'TEAM_PLAN=best instep rebuild --dry-run',
  )
    .option('--team <id>', 'only this team', applicationId)
    .option('--dry-run', 'report differences without repairing them')
    .option('--json', 'print a JSON line for each difference')
    .action(rebuild);
  return askReason(command);
}

async function rebuild({ team, dryRun = false, json }: RebuildOptions): Promise<void> {
  const request = {
    teamId: team,
    isDryRun: dryRun,
    onDifference(difference: Difference) {
      print(json ? JSON.stringify(difference) : describeChange(difference));
    },
    onFailure({ customerId, error }: RebuildFailure) {
      const { message } = error;
      const data = { customerId, error: { code: codeOf(error), message } };
      print(json ? JSON.stringify(data) : `customer ${customerId}: not rebuilt: ${message}`);
    },
  };
  const { repaired, failed } = await withContext((context, operator) =>
    rebuildTeams(context, operator, request),
  );
  printMessage(`${dryRun ? 'found' : 'repaired'} ${repaired}, failed ${failed}`);
  if (failed > 0) {
    throw new CommandFailed(
      'REBUILD_INCOMPLETE',
      `${counted(failed, 'customer')} could not be rebuilt: run \`instep rebuild\` again when the cause is resolved`,
    );
  }
}
