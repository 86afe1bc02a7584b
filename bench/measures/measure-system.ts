import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Measure, Options } from '../options.ts';
import type { PreparedSystem } from '../systems/prepared-system.ts';
import { type Measured, ServerRun } from './server-run.ts';

/** The names of the measurements under load. */
export const LOADS = {
  events: 'events',
  eventsInTime: 'events at 70%',
  oneEvent: 'events, one at a time',
  profiles: 'profiles',
  profilesInTime: 'profiles at 70%',
  renewals: 'renewals',
  eventsMixed: 'events beside profiles',
  profilesMixed: 'profiles beside events',
} as const;
export type LoadName = (typeof LOADS)[keyof typeof LOADS];

/** The share of the maximum rate. */
const IN_TIME_SHARE = 0.7;

/** Starts a system's server, takes the requested measurements, and stops it. */
export async function measureSystem(
  prepared: PreparedSystem,
  postgres: BenchPostgres,
  options: Options,
  keep: Keep,
): Promise<void> {
  const run = await ServerRun.start(prepared, postgres, options.runtime);
  try {
    if (prepared.mix === 'renewals') await measureRenewals(run, options, keep);
    else await measureChanges(run, options, keep);
  } finally {
    await run.end();
  }
}

async function measureChanges(run: ServerRun, options: Options, keep: Keep): Promise<void> {
  await measureEvents(run, options, keep);
  if (run.prepared.system.profiles === null) return;
  await measureProfiles(run, options, keep);
  if (isRequested(options, 'mixed')) {
    const { events, profiles } = await run.sendMixed(options);
    keep(LOADS.eventsMixed, events);
    keep(LOADS.profilesMixed, profiles);
  }
}

type Keep = (name: LoadName, measured: Measured) => void;

const isRequested = ({ measures }: Options, ...names: readonly Measure[]) =>
  names.some((name) => measures.includes(name));

async function measureEvents(run: ServerRun, options: Options, keep: Keep): Promise<void> {
  const { seconds, connections } = options;
  if (!isRequested(options, 'events', 'latency', 'tail')) return;
  await run.prepared.database.checkpoint();
  const warm = await run.sendEvents({ connections, seconds: options.warmUpSeconds });
  let { perSecond } = warm;
  if (isRequested(options, 'events', 'tail')) {
    const most = await run.sendEvents({ connections, seconds }, perSecond);
    keep(LOADS.events, most);
    perSecond = most.perSecond;
  }
  if (isRequested(options, 'tail')) {
    const ratePerSecond = perSecond * IN_TIME_SHARE;
    keep(LOADS.eventsInTime, await run.sendEvents({ connections, seconds, ratePerSecond }));
  }
  if (isRequested(options, 'latency')) {
    keep(LOADS.oneEvent, await run.sendEvents({ connections: 1, seconds }, perSecond));
  }
}

async function measureProfiles(run: ServerRun, options: Options, keep: Keep): Promise<void> {
  const { seconds, connections } = options;
  if (!isRequested(options, 'profiles', 'tail')) return;
  await run.readProfiles({ connections, seconds: options.warmUpSeconds });
  const most = await run.readProfiles({ connections, seconds });
  keep(LOADS.profiles, most);
  if (isRequested(options, 'tail')) {
    const ratePerSecond = most.perSecond * IN_TIME_SHARE;
    keep(LOADS.profilesInTime, await run.readProfiles({ connections, seconds, ratePerSecond }));
  }
}

async function measureRenewals(run: ServerRun, options: Options, keep: Keep): Promise<void> {
  const { seconds, warmUpSeconds, connections } = options;
  const { perSecond } = await run.sendEvents({ connections, seconds: warmUpSeconds });
  keep(LOADS.renewals, await run.sendEvents({ connections, seconds }, perSecond));
}
