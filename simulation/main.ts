import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { positiveInteger } from '../src/cli/arguments.ts';
import { type Data, printData, tell } from '../src/cli/output.ts';
import { createProgress } from '../src/cli/progress.ts';
import type { PlanSelection } from '../src/core/plan-selection.ts';
import { InstepError } from '../src/runtime/errors.ts';
import { createLogger } from '../src/runtime/logging.ts';
import { DEFAULT_FAULTS, FAULT_NAMES, type Faults } from '../src/testing/lifecycle/faults.ts';
import { runCoreThreads } from './core/core-threads.ts';
import { describeFailure } from './describe-failure.ts';
import { enumerate } from './enumeration/enumerate.ts';
import type { Alphabet } from './enumeration/short-lifecycles.ts';
import { runHttpLevel } from './http/http-level.ts';
import { addSummaries, type Failure, type LevelOptions, type Summary } from './level.ts';
import { withSimulatedDatabase } from './simulated-database.ts';
import { DEFAULT_LOSSES, type Losses } from './store/losses.ts';
import { runStoreLevel } from './store/store-level.ts';

/** A team is not what Stripe would have it be. */
class Diverged extends Error {}

type SimulateOptions = Partial<Faults & Losses> & {
  level: 'core' | 'store' | 'http';
  threads: number;
  acceptors: number;
  alphabet: Alphabet;
  servers: number;
  kill: number;
  databaseUrl?: string;
  seed: number;
  seeds: number;
  deliveries: number;
  teamPlan?: PlanSelection;
  enumerate?: number;
  extra: number;
  json?: boolean;
};

/** Each fault as an option, with what it does. */
const FAULT_HELP: Readonly<Record<keyof Faults, string>> = {
  duplicate: 'an event comes once more',
  reorder: 'an event comes a little later',
  reorderSeconds: 'up to how much later',
  delay: 'an event comes hours later',
  delayHours: 'up to how much later',
  lose: 'an attempt gets lost, and is repeated',
  loseAnswer: 'the answer 200 gets lost, and the event is sent again',
  simultaneous: 'an event comes to several acceptors at once',
  linkLate: 'the team is linked among or after its events',
  endpointOutage: 'nothing reaches the endpoint for a while',
  databaseOutage: 'nothing can be stored for a while',
  apiOutage: "Stripe's API does not answer for a while",
  keeper: 'the keeper has a turn between two deliveries',
};

const LOSS_HELP: Readonly<Record<keyof Losses, string>> = {
  drop: 'of a customer at the level store: some events are never delivered, only listed',
  forget: 'of a customer at the level store: nor are they listed any more',
};

function createCommand(): Command {
  const command = new Command('npm run simulate --')
    .description('simulate customer lifecycles, deliver their events badly, and audit every team')
    .addOption(
      new Option('--level <level>', 'what is put to the test')
        .choices(['core', 'store', 'http'])
        .default('core'),
    )
    .option('--seed <n>', 'the first seed: everything follows from it', positiveInteger, 1)
    .option('--seeds <n>', 'how many seeds, one after the other', positiveInteger, 100)
    .option('--deliveries <n>', 'how many deliveries, all seeds together', positiveInteger, 100_000)
    .addOption(
      new Option(
        '--team-plan <choice>',
        'which of several subscriptions counts (default: both)',
      ).choices(['newest', 'best']),
    )
    .option(
      '--threads <n>',
      'how many threads the level core has',
      positiveInteger,
      availableParallelism(),
    )
    .option('--acceptors <n>', 'how many acceptors the level store has', positiveInteger, 3)
    .option('--servers <n>', 'how many servers the level http has', positiveInteger, 2)
    .option('--kill <probability>', 'of a delivery: a server is killed', probability, 0.0005)
    .option('--database-url <url>', 'an empty PostgreSQL (default: an embedded one of its own)')
    .option(
      '--enumerate <n>',
      'instead: all orders of every life of up to n events',
      positiveInteger,
    )
    .addOption(
      new Option('--alphabet <alphabet>', 'when enumerating, which changes there are')
        .choices(['full', 'small'])
        .default('full'),
    )
    .option('--extra <n>', 'when enumerating, up to how many duplicates', wholeNumber, 2)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npm run simulate -- --seeds 1000 --deliveries 1000000')
    .action(simulate);
  for (const name of faultNames()) {
    const help = `${FAULT_HELP[name]} (default: ${DEFAULT_FAULTS[name]})`;
    const value = name.endsWith('Seconds') || name.endsWith('Hours') ? '<n>' : '<probability>';
    command.option(`--${dashed(name)} ${value}`, help, value === '<n>' ? amount : probability);
  }
  for (const name of LOSS_NAMES) {
    const help = `${LOSS_HELP[name]} (default: ${DEFAULT_LOSSES[name]})`;
    command.option(`--${name} <probability>`, help, probability);
  }
  return command;
}

/** 0: no divergence; 1: a divergence or a failure; 2: wrong usage. */
async function main(): Promise<void> {
  try {
    await createCommand().exitOverride().parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      process.exitCode = 1;
      const isExplained = error instanceof InstepError || error instanceof Diverged;
      tell(`simulate: ${isExplained ? error.message : inspect(error)}`);
    }
  }
}

async function simulate(options: SimulateOptions): Promise<void> {
  if (options.enumerate === undefined) await sample(options);
  else await enumerateUpTo(options.enumerate, options);
}

async function enumerateUpTo(maxLength: number, options: SimulateOptions): Promise<void> {
  const { extra, alphabet, json = false } = options;
  for (let length = 1; length <= maxLength; length += 1) {
    const startedAtMs = performance.now();
    const { failure, ...counts } = await enumerate({ length, extra, alphabet });
    const seconds = Math.round((performance.now() - startedAtMs) / 100) / 10;
    printData({ events: length, duplicates: extra, ...counts, seconds }, { json });
    if (failure !== null) {
      refuse(
        failure,
        `npm run simulate -- --enumerate ${length} --extra ${extra} --alphabet ${alphabet}`,
      );
    }
  }
}

/** @throws Diverged, after telling a person all about it */
function refuse(failure: Failure, command: string): never {
  for (const line of describeFailure(failure)) tell(line);
  tell(`\nThis repeats it:\n  ${command}`);
  throw new Diverged('a team is not what Stripe would have it be');
}

async function sample(options: SimulateOptions): Promise<void> {
  const { seed, seeds, deliveries, teamPlan, json = false } = options;
  const faults = { ...DEFAULT_FAULTS };
  for (const name of faultNames()) faults[name] = options[name] ?? faults[name];
  const progress = createProgress({ unit: 'deliveries', total: deliveries });
  const level: LevelOptions = {
    firstSeed: seed,
    seeds,
    deliveries,
    planSelection: teamPlan ?? null,
    faults,
    onProgress: progress.show,
  };

  const startedAtMs = performance.now();
  const summary = await run(options, level);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  progress.clear();

  printData(dataOf(summary, seconds), { json });
  const { failure } = summary;
  if (failure !== null) refuse(failure, repeatCommand(failure, level, options));
}

async function run(options: SimulateOptions, level: LevelOptions): Promise<Summary> {
  const { acceptors, servers, kill, databaseUrl } = options;
  if (options.level === 'core') return await runCoreThreads(level, options.threads);
  return await withSimulatedDatabase(databaseUrl, async ({ server, environment }) => {
    const open = () => server.open(POOL);
    if (options.level === 'store') {
      const logger = createLogger('silent');
      const losses = { ...DEFAULT_LOSSES };
      for (const name of LOSS_NAMES) losses[name] = options[name] ?? losses[name];
      return await runStoreLevel({ ...level, losses, open, acceptors, logger, now: Date.now });
    }
    const database = open();
    const http = { database, servers, program: PROGRAM, environment, kill, now: Date.now };
    try {
      if (level.planSelection !== null) {
        return await runHttpLevel({ ...level, ...http, planSelection: level.planSelection });
      }
      // A server has one setting: half of the seeds are for the one, half for the other.
      const seeds = Math.ceil(level.seeds / 2);
      const half = { ...level, ...http, seeds, deliveries: Math.ceil(level.deliveries / 2) };
      const newest = await runHttpLevel({ ...half, planSelection: 'newest' });
      if (newest.failure !== null) return newest;
      const best = await runHttpLevel({
        ...half,
        planSelection: 'best',
        firstSeed: level.firstSeed + seeds,
        onProgress: (deliveries) => level.onProgress?.(newest.deliveries + deliveries),
      });
      return addSummaries(newest, best);
    } finally {
      await database.close();
    }
  });
}

const PROGRAM = fileURLToPath(new URL('../../../dist/cli/instep.js', import.meta.url));

const POOL = {
  maxConnections: 8,
  statementTimeoutMs: 20_000,
  onConnectionError: () => undefined,
};

function dataOf({ counts, failure, ...summary }: Summary, seconds: number): Data {
  const faults = FAULT_NAMES.map((name) => [dashed(name), counts[name]]);
  return {
    ...summary,
    ...Object.fromEntries(faults),
    seconds: Math.round(seconds * 10) / 10,
    'deliveries/s': Math.round(summary.deliveries / seconds),
    divergences: failure?.divergences.length ?? 0,
  };
}

/** The same seed with the same share of deliveries is the same run. */
function repeatCommand(
  { seed, planSelection }: Failure,
  level: LevelOptions,
  options: SimulateOptions,
): string {
  const share = Math.ceil(level.deliveries / level.seeds);
  const faults = [...faultNames(), ...LOSS_NAMES].flatMap((name) =>
    options[name] === undefined ? [] : [`--${dashed(name)} ${options[name]}`],
  );
  return [
    `npm run simulate -- --level ${options.level} --seed ${seed} --seeds 1 --deliveries ${share}`,
    ...(options.level === 'core' && level.planSelection === null
      ? []
      : [`--team-plan ${planSelection}`]),
    ...faults,
  ].join(' ');
}

const LOSS_NAMES: readonly (keyof Losses)[] = ['drop', 'forget'];

function faultNames(): (keyof Faults)[] {
  return [...FAULT_NAMES, 'reorderSeconds', 'delayHours'];
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function wholeNumber(text: string): number {
  if (!/^\d$/.test(text)) throw new InvalidArgumentError('must be from 0 to 9.');
  return Number(text);
}

function amount(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) {
    throw new InvalidArgumentError('must be a number from 0.');
  }
  return value;
}

function probability(text: string): number {
  const value = amount(text);
  if (value > 1) throw new InvalidArgumentError('must be from 0 to 1.');
  return value;
}

await main();
