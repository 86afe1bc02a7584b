import { fileURLToPath } from 'node:url';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import { type Options, UsageWrong } from '../options.ts';
import { installPeers } from '../peers-install.ts';
import { createSystems } from '../systems/all.ts';
import { buildEarlierProgram } from '../systems/earlier-instep.ts';
import { createInstep } from '../systems/instep.ts';
import { type PreparedSystem, prepareSystem } from '../systems/prepared-system.ts';
import type { System } from '../systems/system.ts';
import { type CommitTimes, measureCommits } from './commit.ts';
import { type EventBytes, measureEventBytes } from './event-bytes.ts';
import { type InstallSize, measureInstall } from './install-size.ts';
import { type LoadName, measureSystem } from './measure-system.ts';
import type { Measured } from './server-run.ts';
import { measureStarts, type StartTimes } from './start-times.ts';

/** A measurement of one system in one round. */
export type Sample = {
  readonly system: string;
  readonly round: number;
  readonly name: LoadName;
  readonly measured: Measured;
};

/** All measurements; `null` or empty if they were not requested. */
export type Comparison = {
  readonly systems: readonly System[];
  readonly samples: readonly Sample[];
  readonly commits: readonly CommitTimes[];
  readonly starts: StartTimes | null;
  readonly bytes: ReadonlyMap<string, EventBytes>;
  readonly install: InstallSize | null;
};

const SIZE = { teams: 10_000, users: 10_000 };
const STARTS = 5;
/** Enough events to extrapolate to a million. */
const EVENTS_FOR_BYTES = 50_000;
/** The systems that store events. */
const LOGGING = ['instep', 'floor'];
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export type CompareOptions = {
  readonly options: Options;
  readonly postgres: BenchPostgres;
  readonly stripeApiBase: string;
  /** Called with each sample. */
  readonly onSample: (sample: Sample) => void;
};

/** Measures the systems one after the other, in several rounds. */
export async function compare(compareOptions: CompareOptions): Promise<Comparison> {
  const { options, postgres, stripeApiBase, onSample } = compareOptions;
  const isRequested = (measure: Options['measures'][number]) => options.measures.includes(measure);
  const systems =
    options.against === null
      ? chosen(createSystems(stripeApiBase), options.only)
      : withEarlier(stripeApiBase, options.against);
  if (systems.some(({ isPeer }) => isPeer)) installPeers();

  const prepared: PreparedSystem[] = [];
  for (const system of systems) {
    prepared.push(await prepareSystem(system, postgres, SIZE));
    if (!isRequested('renewals')) continue;
    const own = { databaseName: `${system.name}-renewals`, mix: 'renewals' } as const;
    prepared.push(await prepareSystem(system, postgres, SIZE, own));
  }
  const plain = await postgres.create('commits');
  const samples: Sample[] = [];
  const commits: CommitTimes[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    if (isRequested('latency')) commits.push(await measureCommits(plain, options.seconds));
    // The order alternates, so that no system is always the first.
    for (const one of round % 2 === 0 ? prepared.toReversed() : prepared) {
      await measureSystem(one, postgres, options, (name, measured) => {
        const sample = { system: one.system.name, round, name, measured };
        samples.push(sample);
        onSample(sample);
      });
    }
  }

  const bytes = new Map<string, EventBytes>();
  for (const system of isRequested('bytes') ? systems : []) {
    if (!LOGGING.includes(system.name)) continue;
    const fresh = await prepareSystem(system, postgres, SIZE);
    bytes.set(system.name, await measureEventBytes(fresh, postgres, EVENTS_FOR_BYTES));
  }
  return {
    systems,
    samples,
    commits,
    bytes,
    starts: isRequested('start') ? await startsOf(systems, postgres) : null,
    install: isRequested('install') ? await measureInstall(ROOT) : null,
  };
}

export const EARLIER = 'earlier';

function withEarlier(stripeApiBase: string, ref: string): System[] {
  const earlier = { name: EARLIER, program: buildEarlierProgram(ref) };
  return [createInstep(stripeApiBase), createInstep(stripeApiBase, earlier)];
}

function chosen(all: readonly System[], only: Options['only']): readonly System[] {
  const unknown = only?.find((name) => !all.some((system) => system.name === name));
  if (unknown === undefined) return all.filter(({ name }) => only?.includes(name) ?? true);
  const names = all.map(({ name }) => name).join(', ');
  throw new UsageWrong(`unknown system '${unknown}'; there are ${names}`);
}

async function startsOf(
  systems: readonly System[],
  postgres: BenchPostgres,
): Promise<StartTimes | null> {
  const instep = systems.find(({ name }) => name === 'instep');
  if (instep === undefined) return null;
  const { database } = await prepareSystem(instep, postgres, SIZE);
  return await measureStarts(instep.server(database.url), STARTS);
}
