import { parseArgs } from 'node:util';

export const MEASURES = [
  'events',
  'profiles',
  'latency',
  'tail',
  'start',
  'bytes',
  'install',
] as const;
export type Measure = (typeof MEASURES)[number];

const STEPS = ['compare', 'growth', 'memory', 'console'] as const;
export type Step = (typeof STEPS)[number];

export type Options = {
  readonly step: Step;
  /** Names of contestants; `null`: all of them. */
  readonly only: readonly string[] | null;
  readonly measures: readonly Measure[];
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  /** Where the servers' CPU profiles go; `null`: none are taken. */
  readonly profileFolder: string | null;
  /** How far it grows. */
  readonly events: number;
  readonly teams: number;
  /** How long the memory is watched. */
  readonly minutes: number;
  /** Whether it is the whole of a step, so that the page may tell of it. */
  readonly isWhole: boolean;
  readonly isHelpAsked: boolean;
};

export const USAGE = `usage: npm run bench -- [compare|growth|memory|console] [options]
  compare  Instep, the floor and the peers, in turns
  growth   Instep with few teams and an empty log, and with many
  memory   Instep under full load, for minutes
  console  the operators' pages, over a long log; with DATABASE_URL it stays there for the next time
Whatever is not a whole step as it comes is told, but not written to docs/performance.md.
  --only instep,floor      these contestants
  --measure events,tail    these measures: ${MEASURES.join(', ')}
  --rounds 3               how often each has its turn
  --seconds 5              how long each measure takes
  --warm-up 4              how long the same load runs before it, in seconds
  --connections 64
  --profile FOLDER         the servers write CPU profiles there
  --events 10000000        growth, console: events in the log
  --teams 1000000          growth, console: teams, and users
  --minutes 10             memory
`;

/** The command line said something that is not understood. */
export class UsageWrong extends Error {}

const DEFAULTS = {
  rounds: '3',
  seconds: '5',
  'warm-up': '4',
  connections: '64',
  events: '10000000',
  teams: '1000000',
  minutes: '10',
} as const;

type NumberName = keyof typeof DEFAULTS;

export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [step = 'compare', ...others] = positionals;
  if (others.length > 0) throw new UsageWrong(`one step at a time: ${positionals.join(', ')}`);
  const { only, measure, profile } = values;
  const number = (name: NumberName) => toNumber(name, values[name] ?? DEFAULTS[name]);
  return {
    step: oneOf(STEPS, 'step', step),
    only: only?.split(',') ?? null,
    measures: (measure?.split(',') ?? MEASURES).map((name) => oneOf(MEASURES, 'measure', name)),
    rounds: number('rounds'),
    seconds: number('seconds'),
    warmUpSeconds: number('warm-up'),
    connections: number('connections'),
    profileFolder: profile ?? null,
    events: number('events'),
    teams: number('teams'),
    minutes: number('minutes'),
    isWhole: Object.keys(values).length === 0,
    isHelpAsked: values.help === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: text,
        measure: text,
        profile: text,
        rounds: text,
        seconds: text,
        'warm-up': text,
        connections: text,
        events: text,
        teams: text,
        minutes: text,
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (cause) {
    throw new UsageWrong(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function oneOf<Name extends string>(names: readonly Name[], what: string, told: string): Name {
  const found = names.find((name) => name === told);
  if (found === undefined) throw new UsageWrong(`there is no ${what} '${told}'`);
  return found;
}

function toNumber(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new UsageWrong(`--${name} must be a number above 0`);
  return number;
}
