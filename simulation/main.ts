import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { type Data, printData, printMessage } from 'instep/src/cli/output.ts';
import { InstepError } from 'instep-engine/runtime';
import { countText } from 'instep-engine/src/runtime/amounts.ts';
import { createLogger } from 'instep-engine/src/runtime/logging.ts';
import { openCluster } from './cluster/open-cluster.ts';
import { withPrimaryAndStandby } from './cluster/with-primary-and-standby.ts';
import { runCoreThreads } from './core/core-threads.ts';
import { describeFailure } from './describe-failure.ts';
import { enumerate } from './enumeration/enumerate.ts';
import { runHttpLevel } from './http/http-level.ts';
import {
  addSummaries,
  emptySummary,
  type Failure,
  type LevelOptions,
  type Summary,
} from './level.ts';
import { FAULT_NAMES } from './lifecycle/faults.ts';
import {
  createCommand,
  faultArguments,
  faultsOf,
  lossesOf,
  type SimulateOptions,
  toFlag,
} from './options.ts';
import { withSimulatedDatabase } from './simulated-database.ts';
import { type FleetOptions, openPipelines } from './store/fleet.ts';
import { runStoreLevel } from './store/store-level.ts';

class Diverged extends Error {}

const PROGRAM = fileURLToPath(
  new URL('../../../packages/instep/dist/cli/instep.js', import.meta.url),
);

const POOL = {
  maxConnections: 8,
  statementTimeoutMs: 20_000,
  onConnectionError: () => undefined,
};

async function simulate(options: SimulateOptions): Promise<void> {
  if (options.enumerate === undefined) await sample(options);
  else await enumerateUpTo(options.enumerate, options);
}

async function enumerateUpTo(maxLength: number, options: SimulateOptions): Promise<void> {
  const { extra, transitions, json = false } = options;
  for (let length = 1; length <= maxLength; length += 1) {
    const startedAtMs = performance.now();
    const { failure, ...counts } = await enumerate({ length, extra, transitions });
    const seconds = secondsSince(startedAtMs);
    printData({ events: length, duplicates: extra, ...counts, seconds }, { json });
    const args = `--enumerate ${length} --extra ${extra} --transitions ${transitions}`;
    if (failure !== null) report(failure, args);
  }
}

const PROGRESS_INTERVAL_MS = 100;

/** Replaces the line on standard error, if standard output is a terminal. */
function showProgress(line: string): void {
  if (process.stdout.isTTY) process.stderr.write(`\r${line}\u001b[K`);
}

async function sample(options: SimulateOptions): Promise<void> {
  const { seed, seeds, deliveries, teamPlan = null, json = false } = options;
  let shownAtMs = 0;
  const onProgress = (done: number) => {
    if (performance.now() - shownAtMs < PROGRESS_INTERVAL_MS) return;
    shownAtMs = performance.now();
    showProgress(`${countText(done)} of ${countText(deliveries)} deliveries`);
  };
  const level: LevelOptions = {
    firstSeed: seed,
    seeds,
    deliveries,
    planSelection: teamPlan,
    faults: faultsOf(options),
    onProgress,
  };
  const startedAtMs = performance.now();
  const summary = await run(options, level);
  showProgress('');
  printData(dataOf(summary, secondsSince(startedAtMs)), { json });
  if (summary.failure !== null) report(summary.failure, repeatArguments(summary.failure, options));
}

/** @throws Diverged, after printing the failure and the command that repeats it */
function report(failure: Failure, args: string): never {
  for (const line of describeFailure(failure)) printMessage(line);
  printMessage(`\nTo repeat it:\n  npm run simulate -- ${args}`);
  throw new Diverged('a team differs from what its events require');
}

async function run(options: SimulateOptions, level: LevelOptions): Promise<Summary> {
  const { pipelines, servers, kill, databaseUrl } = options;
  if (options.level === 'core') return await runCoreThreads(level, options.threads);
  const now = Date.now;
  const store = { ...level, losses: lossesOf(options), logger: createLogger('silent'), now };
  if (options.level === 'cluster') {
    return await withPrimaryAndStandby(async ({ open: openPool, ...pair }) => {
      const open = () => openPool(POOL);
      const openFleet = (fleet: FleetOptions) => openCluster(pair, fleet);
      return await runStoreLevel({ ...store, open, openFleet });
    });
  }
  return await withSimulatedDatabase(databaseUrl, async ({ server, environment }) => {
    const open = () => server.open(POOL);
    if (options.level === 'store') {
      const openFleet = (fleet: FleetOptions) => openPipelines(pipelines, fleet);
      return await runStoreLevel({ ...store, open, openFleet });
    }
    const database = open();
    const http = { ...level, database, servers, program: PROGRAM, environment, kill, now };
    // A server has one plan selection, so without the option the seeds are divided between both.
    const selections =
      level.planSelection === null ? (['newest', 'best'] as const) : [level.planSelection];
    const seeds = Math.ceil(level.seeds / selections.length);
    const deliveries = Math.ceil(level.deliveries / selections.length);
    let sum: Summary = emptySummary();
    try {
      for (const [index, planSelection] of selections.entries()) {
        const firstSeed = level.firstSeed + index * seeds;
        const part = { firstSeed, seeds, deliveries, planSelection };
        if (sum.failure === null) sum = addSummaries(sum, await runHttpLevel({ ...http, ...part }));
      }
      return sum;
    } finally {
      await database.close();
    }
  });
}

function dataOf({ counts, failure, ...summary }: Summary, seconds: number): Data {
  const faults = FAULT_NAMES.map((name) => [toFlag(name), counts[name]]);
  return {
    ...summary,
    ...Object.fromEntries(faults),
    seconds,
    'deliveries/s': Math.round(summary.deliveries / seconds),
    divergences: failure?.divergences.length ?? 0,
  };
}

/** The same seed with the same share of the deliveries is the same run. */
function repeatArguments({ seed, planSelection }: Failure, options: SimulateOptions): string {
  const { level, seeds, deliveries, teamPlan } = options;
  const share = Math.ceil(deliveries / seeds);
  const alternates = level === 'core' && teamPlan === undefined;
  return [
    `--level ${level} --seed ${seed} --seeds 1 --deliveries ${share}`,
    ...(alternates ? [] : [`--team-plan ${planSelection}`]),
    ...faultArguments(options),
  ].join(' ');
}

function secondsSince(startedAtMs: number): number {
  return Math.max(0.1, Math.round((performance.now() - startedAtMs) / 100) / 10);
}

/** 0: no divergence; 1: a divergence or a failure; 2: wrong usage. */
try {
  await createCommand(simulate).exitOverride().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.exitCode = 1;
    const isExplained = error instanceof InstepError || error instanceof Diverged;
    printMessage(`simulate: ${isExplained ? error.message : inspect(error)}`);
  }
}
