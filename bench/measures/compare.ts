import { fileURLToPath } from 'node:url';
import { createContestants } from '../contestants/all.ts';
import type { Contestant } from '../contestants/contestant.ts';
import { type Entrant, enter } from '../contestants/entrant.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import { type Options, UsageWrong } from '../options.ts';
import { installPeers } from '../peers-install.ts';
import { type CommitTimes, measureCommits } from './commit.ts';
import { type EventBytes, measureEventBytes } from './event-bytes.ts';
import { type InstallSize, measureInstall } from './install-size.ts';
import { measureStarts, type StartTimes } from './start-times.ts';
import { type LoadName, takeTurn } from './take-turn.ts';
import type { Measured } from './turn.ts';

/** What one contestant did in one round. */
export type Sample = {
  readonly contestant: string;
  readonly round: number;
  readonly name: LoadName;
  readonly measured: Measured;
};

/** All that was measured; `null` and empty where it was not asked for. */
export type Comparison = {
  readonly contestants: readonly Contestant[];
  readonly samples: readonly Sample[];
  readonly commits: readonly CommitTimes[];
  readonly starts: StartTimes | null;
  readonly bytes: ReadonlyMap<string, EventBytes>;
  readonly install: InstallSize | null;
};

const SIZE = { teams: 10_000, users: 10_000 };
const STARTS = 5;
/** So many events are enough to tell what a million leave. */
const EVENTS_FOR_BYTES = 50_000;
/** Those that keep events. */
const LOGGING = ['instep', 'floor'];
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export type CompareOptions = {
  readonly options: Options;
  readonly postgres: BenchPostgres;
  readonly stripeApiBase: string;
  /** Hears each figure as soon as it is there. */
  readonly onSample: (sample: Sample) => void;
};

/** Lets all contestants have their turns, round after round. */
export async function compare(told: CompareOptions): Promise<Comparison> {
  const { options, postgres, stripeApiBase, onSample } = told;
  const isAsked = (measure: Options['measures'][number]) => options.measures.includes(measure);
  const contestants = chosen(createContestants(stripeApiBase), options.only);
  if (contestants.some(({ isPeer }) => isPeer)) installPeers();

  const entrants: Entrant[] = [];
  for (const contestant of contestants) entrants.push(await enter(contestant, postgres, SIZE));
  const plain = await postgres.create('commits');
  const samples: Sample[] = [];
  const commits: CommitTimes[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    if (isAsked('latency')) commits.push(await measureCommits(plain, options.seconds));
    for (const entrant of entrants) {
      await takeTurn(entrant, postgres, options, (name, measured) => {
        const sample = { contestant: entrant.contestant.name, round, name, measured };
        samples.push(sample);
        onSample(sample);
      });
    }
  }

  const bytes = new Map<string, EventBytes>();
  for (const contestant of isAsked('bytes') ? contestants : []) {
    if (!LOGGING.includes(contestant.name)) continue;
    const fresh = await enter(contestant, postgres, SIZE);
    bytes.set(contestant.name, await measureEventBytes(fresh, postgres, EVENTS_FOR_BYTES));
  }
  return {
    contestants,
    samples,
    commits,
    bytes,
    starts: isAsked('start') ? await startsOf(contestants, postgres) : null,
    install: isAsked('install') ? await measureInstall(ROOT) : null,
  };
}

function chosen(all: readonly Contestant[], only: Options['only']): readonly Contestant[] {
  const unknown = only?.find((name) => !all.some((contestant) => contestant.name === name));
  if (unknown === undefined) return all.filter(({ name }) => only?.includes(name) ?? true);
  const names = all.map(({ name }) => name).join(', ');
  throw new UsageWrong(`there is no contestant '${unknown}', but ${names}`);
}

async function startsOf(
  contestants: readonly Contestant[],
  postgres: BenchPostgres,
): Promise<StartTimes | null> {
  const instep = contestants.find(({ name }) => name === 'instep');
  if (instep === undefined) return null;
  const { database } = await enter(instep, postgres, SIZE);
  return await measureStarts(instep.server(database.url), STARTS);
}
