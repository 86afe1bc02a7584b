import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { readApiConfig, readPlanSelection } from '../config/config.ts';
import { openIngestPipeline } from '../ingest/open-pipeline.ts';
import { withLease } from '../maintenance/lease.ts';
import { createRateLimiter } from '../maintenance/rate-limiter.ts';
import type { Counts } from '../maintenance/reconcile/finding.ts';
import { interruptionOf } from '../maintenance/reconcile/interruption.ts';
import type { Progressing, ReconcileOptions } from '../maintenance/reconcile/options.ts';
import { reconcileAll, resumable } from '../maintenance/reconcile/reconcile-all.ts';
import { reconcileCustomer } from '../maintenance/reconcile/reconcile-customer.ts';
import type { Database } from '../postgres/database.ts';
import { estimateListed } from '../queries/listed-subscriptions.ts';
import { countLinkedTeams } from '../queries/teams.ts';
import { InstepError } from '../runtime/errors.ts';
import { createLogger } from '../runtime/logging.ts';
import { createStripeApi } from '../stripe/api.ts';
import { describeCounts, describeFinding } from './describe-finding.ts';
import { tell } from './output.ts';
import { createProgress, type Progress } from './progress.ts';
import { nextSignal } from './signals.ts';
import { withDatabase } from './with-database.ts';

type Options = { dryRun?: boolean; customer?: string; json?: boolean; resume?: boolean };

/** Teams are not what they must be, and were left so. */
class DriftLeft extends InstepError {
  readonly code = 'DRIFT_LEFT';
}

/** Somebody else reconciles. */
class Reconciling extends InstepError {
  readonly code = 'RECONCILIATION_RUNNING';
}

class NothingToResume extends InstepError {
  readonly code = 'NOTHING_TO_RESUME';
}

class Interrupted extends InstepError {
  readonly code = 'INTERRUPTED';
}

const MAX_CONNECTIONS = 4;
const MAX_QUEUED = 100_000;

export function reconcileCommand(): Command {
  return new Command('reconcile')
    .description('compare all teams with what Stripe lists: show and repair what has drifted')
    .option('--dry-run', 'show what has drifted, and leave it')
    .option('--customer <id>', 'only this customer')
    .option('--resume', 'go on where the last one was stopped')
    .option('--json', 'print a JSON line for each finding, and one for the counts')
    .addHelpText('after', '\nExample:\n  instep reconcile --dry-run')
    .action(reconcile);
}

async function reconcile({
  dryRun = false,
  customer,
  json,
  resume = false,
}: Options): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  void nextSignal().then(() => stopping.abort());

  const counts = await withDatabase(async (database) => {
    const bars = createBars(database);
    const options = optionsOf(database, {
      isDryRun: dryRun,
      onFinding(finding) {
        bars.clear();
        process.stdout.write(`${json ? JSON.stringify(finding) : describeFinding(finding)}\n`);
      },
      onProgress: bars.show,
    });
    try {
      if (customer !== undefined) return await reconcileCustomer(customer, options, signal);
      await bars.prepare();
      return await reconcileEverything(options, resume, signal);
    } catch (error) {
      const why = interruptionOf(error);
      if (why === null) throw error;
      const hint = ': go on with `instep reconcile --resume`';
      const mayResume = customer === undefined && why.mayResume;
      throw new Interrupted(`${why.reason}${mayResume ? hint : ''}`, { cause: error });
    } finally {
      bars.clear();
    }
  }, MAX_CONNECTIONS);

  if (json) process.stdout.write(`${JSON.stringify({ kind: 'counts', ...counts })}\n`);
  else tell(describeCounts(counts, dryRun));
  const left = counts.drifts - counts.repaired;
  if (left === 0) return;
  const hint = dryRun ? ': without --dry-run it is repaired' : '';
  throw new DriftLeft(`${left} team(s) are not what they must be${hint}`);
}

async function reconcileEverything(
  options: ReconcileOptions,
  mayResume: boolean,
  signal: AbortSignal,
): Promise<Counts> {
  let counts: Counts | undefined;
  const walker = { name: 'reconcile', holder: randomUUID(), dueAfterMs: 0 };
  await withLease(options.database.query, walker, async (walk) => {
    if (mayResume && resumable(walk.progress, options) === null) {
      throw new NothingToResume('there is nothing to go on with: leave out --resume');
    }
    counts = await reconcileAll(walk, { ...options, mayResume }, signal);
  });
  if (counts !== undefined) return counts;
  throw new Reconciling(
    'another reconciliation is under way: try again when it is done, or two minutes after its end ' +
      'if it was killed',
  );
}

function optionsOf(
  database: Database,
  given: Pick<ReconcileOptions, 'isDryRun' | 'onFinding' | 'onProgress'>,
): ReconcileOptions {
  const planSelection = readPlanSelection(process.env);
  const api = createStripeApi(readApiConfig(process.env));
  const logger = createLogger('warn', { write: (line) => void process.stderr.write(line) });
  const door = { database, api, logger, planSelection, now: Date.now, maxQueued: MAX_QUEUED };
  const { ingest, productNames } = openIngestPipeline(door);
  const pace = createRateLimiter(Date.now);
  return {
    ...given,
    database,
    ingest,
    listSubscriptions: (from) => pace(() => api.listSubscriptions(from)),
    listCustomers: (from) => pace(() => api.listCustomers(from)),
    nameOf: productNames.nameOf,
    planSelection,
    logger,
    now: Date.now,
    nonce: randomUUID,
  };
}

/** A progress bar for each of what is gone through, one after the other. */
function createBars({ query }: Database) {
  const bars = new Map<Progressing, Progress>();
  let shown: Progress | undefined;
  const add = (unit: Progressing, total: number | null) =>
    bars.set(unit, createProgress({ unit, total, hasRate: true }));
  return {
    async prepare(): Promise<void> {
      add('subscriptions', await estimateListed(query));
      add('teams', await countLinkedTeams(query));
      add('customers', null);
    },
    show(of: Progressing, done: number): void {
      shown = bars.get(of);
      shown?.show(done);
    },
    clear: () => shown?.clear(),
  };
}
