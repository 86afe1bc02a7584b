import type { Command } from 'commander';
import { readApiConfig, readPlanSelection } from '../config/config.ts';
import type { Finding } from '../maintenance/reconcile/drift.ts';
import { NothingToResume, type StepProgress } from '../maintenance/reconcile/progress.ts';
import { ReconciliationFailed } from '../maintenance/reconcile/reconcile.ts';
import { reconcileTeams } from '../operate/compare.ts';
import { createContext, type OperateContext, type Operator } from '../operate/context.ts';
import type { Database } from '../postgres/database.ts';
import { counted } from '../runtime/count-text.ts';
import { InstepError } from '../runtime/errors.ts';
import { createLogger } from '../runtime/logging.ts';
import { createCommand } from './create-command.ts';
import { describeCounts, describeFinding } from './describe-finding.ts';
import { printMessage } from './output.ts';
import { createProgress, type Progress } from './progress.ts';
import { stopSignal } from './signals.ts';
import { withDatabase } from './with-database.ts';

type Options = { dryRun?: boolean; customer?: string; json?: boolean; resume?: boolean };

class DriftLeft extends InstepError {
  readonly code = 'DRIFT_LEFT';
}

const MAX_CONNECTIONS = 4;
const MAX_QUEUED = 100_000;

export function reconcileCommand(): Command {
  return createCommand(
    'reconcile',
    'compare all teams with Stripe; report and repair drift',
    'instep reconcile --dry-run',
  )
    .option('--dry-run', 'report drift without repairing it')
    .option('--customer <id>', 'only this customer')
    .option('--resume', 'continue an interrupted reconciliation')
    .option('--json', 'print a JSON line for each finding, and one for the counts')
    .action(run);
}

async function run({ dryRun = false, customer, json, resume = false }: Options): Promise<void> {
  const signal = stopSignal();
  const counts = await withDatabase(async (database) => {
    const bars = createBars();
    const request = {
      customerId: customer,
      isDryRun: dryRun,
      resume: resume ? ('required' as const) : ('no' as const),
      signal,
      onFinding(finding: Finding) {
        bars.clear();
        process.stdout.write(`${json ? JSON.stringify(finding) : describeFinding(finding)}\n`);
      },
      onProgress: bars.show,
    };
    try {
      return await reconcileTeams(openOn(database), operator(), request);
    } catch (error) {
      throw customer === undefined ? withHint(error) : error;
    } finally {
      bars.clear();
    }
  }, MAX_CONNECTIONS);

  if (json) process.stdout.write(`${JSON.stringify({ kind: 'counts', ...counts })}\n`);
  else printMessage(describeCounts(counts, dryRun));
  const left = counts.drifts - counts.repaired;
  if (left === 0) return;
  const [verb, them] = left === 1 ? ['is', 'it'] : ['are', 'them'];
  const hint = dryRun ? `: to repair ${them}, run without --dry-run` : '';
  throw new DriftLeft(`${counted(left, 'team')} ${verb} out of sync with Stripe${hint}`);
}

/** The error, with the option that helps. */
function withHint(cause: unknown): unknown {
  if (cause instanceof NothingToResume) {
    return new NothingToResume(`${cause.message}: run without --resume`, { cause });
  }
  if (cause instanceof ReconciliationFailed && cause.isResumable) {
    const hint = 'continue with `instep reconcile --resume`';
    return new ReconciliationFailed(`${cause.message}: ${hint}`, { cause });
  }
  return cause;
}

function openOn(database: Database): OperateContext {
  return createContext({
    database,
    stripeApi: readApiConfig(process.env),
    planSelection: readPlanSelection(process.env),
    maxQueued: MAX_QUEUED,
    logger: createLogger('warn', { write: (line) => void process.stderr.write(line) }),
    now: Date.now,
    close: async () => undefined,
  });
}

/** The account of the operating system, by its number. */
const operator = (): Operator => ({
  name: `uid:${process.getuid?.() ?? 'unknown'}`,
  how: 'command',
});

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
