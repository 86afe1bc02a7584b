import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Measure, Options } from '../options.ts';
import { type Entrant, type Measured, Turn } from './turn.ts';

/** The measures of one turn, by their names. */
export type TurnMeasures = Map<string, Measured>;

/** Of the maximum rate. */
const TAIL_SHARE = 0.7;

/** Starts a contestant's server, takes the measures that were asked for, and stops it. */
export async function takeTurn(
  entrant: Entrant,
  postgres: BenchPostgres,
  options: Options,
  tell: (name: string, measured: Measured) => void,
): Promise<TurnMeasures> {
  const turn = await Turn.start(entrant, postgres);
  const measures: TurnMeasures = new Map();
  const keep = (name: string, measured: Measured) => {
    measures.set(name, measured);
    tell(name, measured);
  };
  try {
    await measureEvents(turn, options, keep);
    if (entrant.contestant.profiles !== null) await measureProfiles(turn, options, keep);
    return measures;
  } finally {
    await turn.end();
  }
}

type Keep = (name: string, measured: Measured) => void;

const isAsked = ({ measures }: Options, ...names: readonly Measure[]) =>
  names.some((name) => measures.includes(name));

async function measureEvents(turn: Turn, options: Options, keep: Keep): Promise<void> {
  const { seconds, connections } = options;
  if (!isAsked(options, 'events', 'latency', 'tail')) return;
  await turn.entrant.database.checkpoint();
  const warm = await turn.sendEvents({ connections, seconds: options.warmUpSeconds });
  let { perSecond } = warm;
  if (isAsked(options, 'events', 'tail')) {
    const most = await turn.sendEvents({ connections, seconds }, perSecond);
    keep('events', most);
    perSecond = most.perSecond;
  }
  if (isAsked(options, 'tail')) {
    const ratePerSecond = perSecond * TAIL_SHARE;
    keep('events at 70 %', await turn.sendEvents({ connections, seconds, ratePerSecond }));
  }
  if (isAsked(options, 'latency')) {
    keep('events, one at a time', await turn.sendEvents({ connections: 1, seconds }, perSecond));
  }
}

async function measureProfiles(turn: Turn, options: Options, keep: Keep): Promise<void> {
  const { seconds, connections } = options;
  if (!isAsked(options, 'profiles', 'tail')) return;
  await turn.readProfiles({ connections, seconds: options.warmUpSeconds });
  const most = await turn.readProfiles({ connections, seconds });
  keep('profiles', most);
  if (isAsked(options, 'tail')) {
    const ratePerSecond = most.perSecond * TAIL_SHARE;
    keep('profiles at 70 %', await turn.readProfiles({ connections, seconds, ratePerSecond }));
  }
}
