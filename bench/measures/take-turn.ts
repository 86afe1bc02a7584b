import { resolve } from 'node:path';
import type { Entrant } from '../contestants/entrant.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Measure, Options } from '../options.ts';
import { type Measured, Turn } from './turn.ts';

/** The names of what is measured under load. */
export const LOADS = {
  events: 'events',
  eventsInTime: 'events at 70 %',
  oneEvent: 'events, one at a time',
  profiles: 'profiles',
  profilesInTime: 'profiles at 70 %',
} as const;
export type LoadName = (typeof LOADS)[keyof typeof LOADS];

/** Of the maximum rate. */
const IN_TIME_SHARE = 0.7;

/** Starts a contestant's server, takes the measures that were asked for, and stops it. */
export async function takeTurn(
  entrant: Entrant,
  postgres: BenchPostgres,
  options: Options,
  keep: Keep,
): Promise<void> {
  const { profileFolder } = options;
  const nodeOptions =
    profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(profileFolder)}`];
  const turn = await Turn.start(entrant, postgres, nodeOptions);
  try {
    await measureEvents(turn, options, keep);
    if (entrant.contestant.profiles !== null) await measureProfiles(turn, options, keep);
  } finally {
    await turn.end();
  }
}

type Keep = (name: LoadName, measured: Measured) => void;

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
    keep(LOADS.events, most);
    perSecond = most.perSecond;
  }
  if (isAsked(options, 'tail')) {
    const ratePerSecond = perSecond * IN_TIME_SHARE;
    keep(LOADS.eventsInTime, await turn.sendEvents({ connections, seconds, ratePerSecond }));
  }
  if (isAsked(options, 'latency')) {
    keep(LOADS.oneEvent, await turn.sendEvents({ connections: 1, seconds }, perSecond));
  }
}

async function measureProfiles(turn: Turn, options: Options, keep: Keep): Promise<void> {
  const { seconds, connections } = options;
  if (!isAsked(options, 'profiles', 'tail')) return;
  await turn.readProfiles({ connections, seconds: options.warmUpSeconds });
  const most = await turn.readProfiles({ connections, seconds });
  keep(LOADS.profiles, most);
  if (isAsked(options, 'tail')) {
    const ratePerSecond = most.perSecond * IN_TIME_SHARE;
    keep(LOADS.profilesInTime, await turn.readProfiles({ connections, seconds, ratePerSecond }));
  }
}
