import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { positiveInteger } from 'instep/src/cli/arguments.ts';
import type { PlanSelection } from 'instep-engine/rule';
import type { TransitionSet } from './enumeration/all-lifecycles.ts';
import { DEFAULT_FAULTS, FAULT_NAMES, FAULTS, type Faults } from './lifecycle/faults.ts';
import { DEFAULT_LOSSES, type Losses } from './store/losses.ts';

export type SimulateOptions = Partial<Faults & Losses> & {
  level: 'core' | 'store' | 'cluster' | 'http';
  threads: number;
  pipelines: number;
  transitions: TransitionSet;
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

const LOSS_HELP: Readonly<Record<keyof Losses, string>> = {
  drop: "levels store and cluster: some of a customer's events are never delivered, only listed",
  forget: "levels store and cluster: some of a customer's events are neither delivered nor listed",
};

export function createCommand(action: (options: SimulateOptions) => Promise<void>): Command {
  const command = new Command('npm run simulate --')
    .description('simulate customer lifecycles, deliver their events badly, and check every team')
    .addOption(
      new Option('--level <level>', 'what to test')
        .choices(['core', 'store', 'cluster', 'http'])
        .default('core'),
    )
    .option('--seed <n>', 'first seed; determines everything', positiveInteger, 1)
    .option('--seeds <n>', 'number of seeds', positiveInteger, 100)
    .option('--deliveries <n>', 'total number of deliveries', positiveInteger, 100_000)
    .addOption(
      new Option('--team-plan <selection>', 'plan selection (default: both)').choices([
        'newest',
        'best',
      ]),
    )
    .option('--threads <n>', 'level core: threads', positiveInteger, availableParallelism())
    .option('--pipelines <n>', 'level store: ingest pipelines', positiveInteger, 3)
    .option('--servers <n>', 'level http: servers', positiveInteger, 2)
    .option(
      '--kill <probability>',
      'level http: a server is killed during a delivery',
      probability,
      0.0005,
    )
    .option('--database-url <url>', 'empty PostgreSQL database (default: an embedded one)')
    .option(
      '--enumerate <n>',
      'instead, try every order of every lifecycle with up to n events',
      positiveInteger,
    )
    .addOption(
      new Option('--transitions <which>', 'with --enumerate: the changes of status')
        .choices(['all', 'few'])
        .default('all'),
    )
    .option('--extra <n>', 'with --enumerate: up to n duplicates', digit, 2)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  npm run simulate -- --seeds 1000 --deliveries 1000000')
    .action(action);
  for (const name of FAULT_NAMES) {
    const help = `${FAULTS[name].help} (default: ${FAULTS[name].probability})`;
    command.option(`--${toFlag(name)} <probability>`, help, probability);
  }
  for (const name of DELAYS) {
    const help = `maximum delay (default: ${DEFAULT_FAULTS[name]})`;
    command.option(`--${toFlag(name)} <n>`, help, amount);
  }
  for (const name of LOSS_NAMES) {
    const help = `${LOSS_HELP[name]} (default: ${DEFAULT_LOSSES[name]})`;
    command.option(`--${name} <probability>`, help, probability);
  }
  return command;
}

const DELAYS = ['reorderSeconds', 'delayHours'] as const;
const FAULT_OPTIONS = [...FAULT_NAMES, ...DELAYS];
const LOSS_NAMES: readonly (keyof Losses)[] = ['drop', 'forget'];

export function faultsOf(options: SimulateOptions): Faults {
  const faults = { ...DEFAULT_FAULTS };
  for (const name of FAULT_OPTIONS) faults[name] = options[name] ?? faults[name];
  return faults;
}

export function lossesOf(options: SimulateOptions): Losses {
  const losses = { ...DEFAULT_LOSSES };
  for (const name of LOSS_NAMES) losses[name] = options[name] ?? losses[name];
  return losses;
}

/** The faults and losses that were given, as arguments of the command. */
export function faultArguments(options: SimulateOptions): string[] {
  return [...FAULT_OPTIONS, ...LOSS_NAMES].flatMap((name) =>
    options[name] === undefined ? [] : [`--${toFlag(name)} ${options[name]}`],
  );
}

/** `reorderSeconds` as `reorder-seconds`. */
export function toFlag(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function digit(text: string): number {
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
