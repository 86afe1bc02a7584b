import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Runtime } from './processes/server-process.ts';

const MEASURES = [
  'events',
  'profiles',
  'latency',
  'tail',
  'renewals',
  'mixed',
  'start',
  'bytes',
  'install',
] as const;
export type Measure = (typeof MEASURES)[number];

/** The measurements that compare two commits. */
const LOADS: readonly Measure[] = ['events', 'profiles', 'latency'];

const STEPS = ['compare', 'goals', 'access', 'memory', 'console'] as const;
export type Step = (typeof STEPS)[number];

export type Options = {
  readonly step: Step;
  /** The names of the systems; `null`: all. */
  readonly only: readonly string[] | null;
  /** The commit to compare with; `null`: compare with the floor and the peers. */
  readonly against: string | null;
  readonly measures: readonly Measure[];
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  /** What runs the servers, with options such as `--cpu-prof`. */
  readonly runtime: Runtime;
  readonly events: number;
  readonly teams: number;
  /** The duration of `memory`. */
  readonly minutes: number;
  /** Settings of the PostgreSQL server that the benchmark starts, such as `max_wal_size=8GB`. */
  readonly settings: readonly string[];
  /** Whether the step runs with its default options, so that the result can be published. */
  readonly hasDefaultOptions: boolean;
  readonly isHelp: boolean;
};

export const USAGE = `usage: npm run bench -- [compare|goals|access|memory|console] [options]
  compare    compare Instep with the floor and the peers
  goals      compare Instep with the floor and the plain handler in three runs, with the goals and their medians
  access     read the view instep.team_access for one team and for all teams
  memory     watch Instep's memory under full load
  console    measure the console's pages over a long log; DATABASE_URL keeps the log for the next run
Without options, the figures are written to docs/performance.md, and the goals to bench/README.md.
  --only instep,floor      only these systems
  --against REF            compare: build this commit and run both in turn, with the ratio and its spread;
                           exit with 1 if this one is slower in every round
  --measure events,tail    only these: ${MEASURES.join(', ')}
  --rounds 3               rounds in which every system is measured
  --seconds 5              seconds of each measurement
  --warm-up 4              seconds of the same load before it
  --connections 64
  --runtime bun            what runs the servers: node22, node24 or bun, after npm ci in runtimes/
  --node=--cpu-prof        an option for the servers' Node; can be repeated
  --events 20000000        access, console: events in the log
  --teams 1000000          goals, access, console: teams and users
  --minutes 10             memory: duration
  --set max_wal_size=8GB   a setting for the PostgreSQL that the benchmark starts; can be repeated
STRIPE_OPENAPI_FILE        where GitHub is out of reach: a copy of openapi/spec3.json of github.com/stripe/openapi
                           as of 2020-08-27, which @stripe/sync-engine downloads for its tables
`;

/** The command line is wrong. */
export class UsageWrong extends Error {}

const DEFAULTS = {
  rounds: '3',
  seconds: '5',
  'warm-up': '4',
  connections: '64',
  events: '20000000',
  teams: '1000000',
  minutes: '10',
} as const;

type NumberName = keyof typeof DEFAULTS;

export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [step = 'compare', ...others] = positionals;
  if (others.length > 0) throw new UsageWrong(`only one step at a time: ${positionals.join(', ')}`);
  const { only, against, measure } = values;
  const number = (name: NumberName) => toNumber(name, values[name] ?? DEFAULTS[name]);
  if (values.set !== undefined && process.env.DATABASE_URL !== undefined) {
    throw new UsageWrong('--set does not change an external server: unset DATABASE_URL');
  }
  return {
    step: oneOf(STEPS, 'step', step),
    only: only?.split(',') ?? null,
    against: against ?? null,
    measures: (measure?.split(',') ?? (against === undefined ? MEASURES : LOADS)).map((name) =>
      oneOf(MEASURES, 'measure', name),
    ),
    rounds: number('rounds'),
    seconds: number('seconds'),
    warmUpSeconds: number('warm-up'),
    connections: number('connections'),
    runtime: runtimeOf(values.runtime, values.node ?? []),
    events: number('events'),
    teams: number('teams'),
    minutes: number('minutes'),
    settings: values.set ?? [],
    hasDefaultOptions: Object.keys(values).length === 0,
    isHelp: values.help === true,
  };
}

const INSTALLED = new URL('../../../runtimes/', import.meta.url);

function runtimeOf(name: string | undefined, options: readonly string[]): Runtime {
  if (name === undefined) return { command: process.execPath, options };
  const fileOf = (path: string) => fileURLToPath(new URL(path, INSTALLED));
  const { optionalDependencies } = JSON.parse(readFileSync(fileOf('package.json'), 'utf8'));
  const runtime = oneOf(Object.keys(optionalDependencies), 'runtime', name);
  if (runtime !== 'bun') return { command: fileOf(`node_modules/${runtime}/bin/node`), options };
  // Bun follows the paths of the repository's own `tsconfig.json`, to sources.
  const override = `--tsconfig-override=${fileOf('tsconfig.json')}`;
  return { command: fileOf('node_modules/bun/bin/bun'), options: [override, ...options] };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const texts = { type: 'string', multiple: true } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: text,
        against: text,
        measure: text,
        rounds: text,
        seconds: text,
        'warm-up': text,
        connections: text,
        events: text,
        teams: text,
        minutes: text,
        node: texts,
        runtime: text,
        set: texts,
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (cause) {
    throw new UsageWrong(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function oneOf<Name extends string>(names: readonly Name[], kind: string, text: string): Name {
  const found = names.find((name) => name === text);
  if (found === undefined) throw new UsageWrong(`unknown ${kind} '${text}'`);
  return found;
}

function toNumber(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new UsageWrong(`--${name} must be a number above 0`);
  return number;
}
