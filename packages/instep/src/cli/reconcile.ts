import type { Command } from 'commander';
import type { DriftIssue, ReconciliationIssue } from '../maintenance/reconcile/drift.ts';
import {
  type Counts,
  NothingToResume,
  type StepProgress,
} from '../maintenance/reconcile/progress.ts';
import { ReconciliationFailed } from '../maintenance/reconcile/reconcile.ts';
import { perform } from '../operate/perform.ts';
import { counted, countText, durationText } from '../runtime/amounts.ts';
import { createCommand } from './arguments.ts';
import { shownTime } from './events/log.ts';
import { CommandFailed, paint, planChanges, printMessage } from './output.ts';
import { stopSignal } from './signals.ts';
import { askReason, withStripe } from './with-database.ts';

type Options = { dryRun?: boolean; customer?: string; json?: boolean; resume?: boolean };

export function reconcileCommand(): Command {
  const command = createCommand(
    'reconcile',
    'compare all teams with Stripe; report and repair drift',
    'instep reconcile --dry-run',
  )
    .option('--dry-run', 'report drift without repairing it')
    .option('--customer <id>', 'only this customer')
    .option('--resume', 'continue an interrupted reconciliation')
    .option('--json', 'print a JSON line for each issue, and one for the counts')
    .action(run);
  return askReason(command);
}

async function run({ dryRun = false, customer, json, resume = false }: Options): Promise<void> {
  const signal = stopSignal();
  const counts = await withStripe(async (context, operator) => {
    const bars = createBars();
    const task = {
      action: 'reconcile',
      customerId: customer,
      isDryRun: dryRun,
      resume: resume ? 'required' : 'no',
      signal,
      onIssue(issue: ReconciliationIssue) {
        bars.clear();
        process.stdout.write(`${json ? JSON.stringify(issue) : describeIssue(issue)}\n`);
      },
      onProgress: bars.show,
    } as const;
    try {
      return await perform(context, operator, task);
    } catch (error) {
      throw customer === undefined ? withHint(error) : error;
    } finally {
      bars.clear();
    }
  });

  if (json) process.stdout.write(`${JSON.stringify({ kind: 'counts', ...counts })}\n`);
  else printMessage(describeCounts(counts, dryRun));
  const left = counts.drifts - counts.repaired;
  if (left === 0) return;
  const [verb, them] = left === 1 ? ['is', 'it'] : ['are', 'them'];
  const hint = dryRun ? `: to repair ${them}, run without --dry-run` : '';
  throw new CommandFailed(
    'DRIFT_LEFT',
    `${counted(left, 'team')} ${verb} out of sync with Stripe${hint}`,
  );
}

/** The error, with the option that helps. */
function withHint(cause: unknown): unknown {
  if (cause instanceof NothingToResume) {
    return new NothingToResume(`${cause.message}: run without --resume`, { cause });
  }
  if (cause instanceof ReconciliationFailed) {
    const hint = 'continue with `instep reconcile --resume`';
    return new ReconciliationFailed(`${cause.message}: ${hint}`, { cause });
  }
  return cause;
}

/** One progress bar for each step. */
function createBars() {
  let step: StepProgress['of'] | undefined;
  let bar: Progress | undefined;
  return {
    show({ of, done, total }: StepProgress): void {
      if (step !== of) bar = createProgress({ unit: of, total });
      step = of;
      bar?.show(done);
    },
    clear: () => bar?.clear(),
  };
}

/** An issue in one line. */
export function describeIssue(issue: ReconciliationIssue): string {
  switch (issue.kind) {
    case 'drift':
      return describeDrift(issue);
    case 'unrecorded': {
      const { teamId, customerId, subscriptionIds } = issue;
      const ids = subscriptionIds.join(', ');
      return `team ${teamId} (${customerId}) has the right plan, but an event of ${ids} is missing`;
    }
    case 'customer without a team': {
      const { customerId, statuses } = issue;
      return `customer ${customerId} has no team (${statuses.join(', ')})`;
    }
    case 'unknown customer':
      return `team ${issue.teamId}: Stripe does not know its customer ${issue.customerId}`;
  }
}

/** `team 7 (cus_1): planName Pro → - (sub_1: missed event, since 2026-10-02 08:15:03Z)` */
function describeDrift(drift: DriftIssue): string {
  const { teamId, customerId, is, shouldBe, subscriptionIds, cause, sinceSeconds } = drift;
  const changes = planChanges(is, shouldBe).join(', ');
  const why = subscriptionIds.length === 0 ? cause : `${subscriptionIds.join(', ')}: ${cause}`;
  const since = sinceSeconds === null ? '' : `, since ${shownTime(sinceSeconds * 1_000)}`;
  return `team ${teamId} (${customerId}): ${changes} (${why}${since})`;
}

/** The counts of a reconciliation in one line. */
function describeCounts(counts: Counts, isDryRun: boolean): string {
  const { subscriptions, teams, drifts, repaired, unreadable } = counts;
  const left = isDryRun ? 0 : drifts - repaired;
  const parts = [
    drifts === 0 ? 'no drift' : `${countText(drifts)} out of sync`,
    ...(repaired > 0 ? [`${countText(repaired)} repaired`] : []),
    ...(left > 0 ? [`${countText(left)} not repaired`] : []),
    ...nonzero(counts.unrecorded, 'correct team', 'with a missing event'),
    ...nonzero(counts.customersWithoutTeam, 'customer', 'without a team'),
    ...nonzero(counts.unknownCustomers, 'team', 'whose customer Stripe does not know'),
    ...nonzero(unreadable, 'subscription', 'that could not be read'),
  ];
  const head = `${counted(subscriptions, 'subscription')}, ${counted(teams, 'team')}`;
  return `${head}: ${parts.join(', ')}`;
}

function nonzero(count: number, noun: string, which: string): string[] {
  return count === 0 ? [] : [`${counted(count, noun)} ${which}`];
}

export type Progress = {
  show(done: number): void;
  clear(): void;
};

type ProgressOptions = {
  unit: string;
  /** The exact or estimated total; `null` when it is unknown. */
  total: number | null;
};

const WIDTH = 30;
const INTERVAL_MS = 100;

/** A progress bar on standard error, if standard output is a terminal. */
export function createProgress(options: ProgressOptions): Progress {
  if (!process.stdout.isTTY) return { show: () => undefined, clear: () => undefined };
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let began: { done: number; atMs: number } | undefined;
  return {
    show(done) {
      const nowMs = performance.now();
      began ??= { done, atMs: nowMs };
      if (nowMs - shownAtMs < INTERVAL_MS) return;
      shownAtMs = nowMs;
      const perSecond = ((done - began.done) * 1_000) / Math.max(1, nowMs - began.atMs);
      process.stderr.write(`\r${progressLine(options, done, perSecond)}\u001b[K`);
    },
    clear: () => process.stderr.write('\r\u001b[K'),
  };
}

/** `████░░░░  43%  43,200 of 100,000 subscriptions, 998/s, 57 s left` */
export function progressLine(
  { unit, total }: ProgressOptions,
  done: number,
  perSecond: number,
): string {
  const isMoving = perSecond > 0;
  const rate = isMoving ? `, ${Math.round(perSecond).toLocaleString('en')}/s` : '';
  const count = done.toLocaleString('en');
  if (total === null || done > total) return `${count} ${unit}${rate}`;
  const share = total === 0 ? 1 : done / total;
  const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const left = isMoving ? `, ${durationText(((total - done) * 1_000) / perSecond)} left` : '';
  const of = `${count} of ${total.toLocaleString('en')} ${unit}`;
  return `${paint('green', bar)} ${percent}  ${of}${rate}${left}`;
}
