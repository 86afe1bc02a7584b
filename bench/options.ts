import { parseArgs } from 'node:util';

export const MEASURES = ['events', 'profiles', 'latency', 'tail'] as const;
export type Measure = (typeof MEASURES)[number];

export type Options = {
  /** Names of contestants; `null`: all of them. */
  readonly only: readonly string[] | null;
  readonly measures: readonly Measure[];
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
};

export const USAGE = `usage: npm run bench -- [options]
  --only instep,floor      these contestants
  --measure events,tail    these measures: ${MEASURES.join(', ')}
  --rounds 3               how often each has its turn
  --seconds 5              how long each measure takes
  --warm-up 2              how long the same load runs before it, in seconds
  --connections 64
`;

/** The command line said something that is not understood. */
export class UsageWrong extends Error {}

export function readOptions(args: readonly string[]): Options {
  const { only, measure, rounds, seconds, connections, 'warm-up': warmUp } = parse(args);
  const measures = measure?.split(',') ?? MEASURES;
  return {
    only: only?.split(',') ?? null,
    measures: measures.map(toMeasure),
    rounds: toNumber('rounds', rounds),
    seconds: toNumber('seconds', seconds),
    warmUpSeconds: toNumber('warm-up', warmUp),
    connections: toNumber('connections', connections),
  };
}

function parse(args: readonly string[]) {
  const option = (value?: string) =>
    ({ type: 'string', ...(value !== undefined && { default: value }) }) as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: option(),
        measure: option(),
        rounds: option('3'),
        seconds: option('5'),
        'warm-up': option('2'),
        connections: option('64'),
      },
    });
    return values;
  } catch (cause) {
    throw new UsageWrong(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function toMeasure(name: string): Measure {
  const measure = MEASURES.find((known) => known === name);
  if (measure === undefined) throw new UsageWrong(`there is no measure '${name}'`);
  return measure;
}

function toNumber(name: string, text: string | undefined): number {
  const number = Number(text);
  if (!(number > 0)) throw new UsageWrong(`--${name} must be a number above 0`);
  return number;
}
