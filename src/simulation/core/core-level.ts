import type { TeamPlanChoice } from '../../subscriptions/team-plan.ts';
import { scheduleDeliveries } from '../delivery.ts';
import { addFaults, noFaults } from '../faults.ts';
import type { Failure, LevelOptions, Summary } from '../level.ts';
import { tellLife } from '../provider/history.ts';
import { createRandom } from '../random.ts';
import { createWorld } from '../world.ts';
import { readHistory } from './arrivals.ts';
import { runCase, shrinkCase } from './core-case.ts';
import { type CoreRound, type RoundEnd, runCoreRound } from './core-round.ts';

const CHOICES: readonly [TeamPlanChoice, TeamPlanChoice] = ['newest', 'best'];

/** Which setting a round has, unless all have the same. */
export function choiceOfRound(round: number): TeamPlanChoice {
  return CHOICES[round % 2 === 0 ? 0 : 1];
}

/**
 * The level `core`: the pure core in memory. Every seed is a world; its events are read once and
 * delivered in many rounds, each time to an empty store. Stops at the first divergence.
 */
export function runCoreLevel(options: LevelOptions): Summary {
  const share = Math.ceil(options.deliveries / options.seeds);
  const counts = noFaults();
  const sum = { seeds: 0, rounds: 0, customers: 0, events: 0, deliveries: 0, looks: 0, kills: 0 };
  let digest = 0;
  let failure: Failure | null = null;

  for (let index = 0; index < options.seeds && failure === null; index += 1) {
    const seed = options.firstSeed + index;
    const world = createWorld(seed);
    const read = world.map(({ life, telling }) => readHistory(tellLife(life, telling)));
    const audiences = new Map(read.map((audience) => [audience.history.customerId, audience]));
    const events = read.flatMap(({ history }) => history.events);
    sum.seeds += 1;
    sum.customers += read.length;
    sum.events += events.length;

    let delivered = 0;
    let seedDigest = seed | 0;
    for (let round = 0; delivered < share && failure === null; round += 1) {
      const choice = options.choice ?? choiceOfRound(round);
      const schedule = scheduleDeliveries(events, options.faults, createRandom(seed, 2, round));
      const coreRound = { audiences, steps: schedule.steps, choice };
      const end = runCoreRound(coreRound);
      delivered += schedule.deliveries;
      addFaults(counts, schedule.counts);
      sum.rounds += 1;
      sum.looks += end.looks;
      seedDigest = (Math.imul(seedDigest, 31) + end.digest) | 0;
      failure = failureOf({ seed, round, world, coreRound, end });
    }
    // A sum: whatever the order in which threads come to an end, it is the same.
    digest = (digest + seedDigest) >>> 0;
    sum.deliveries += delivered;
    options.onProgress?.(sum.deliveries);
  }
  return { ...sum, counts, digest, failure };
}

type Ended = {
  readonly seed: number;
  readonly round: number;
  readonly world: ReturnType<typeof createWorld>;
  readonly coreRound: CoreRound;
  readonly end: RoundEnd;
};

function failureOf({ seed, round, world, coreRound, end }: Ended): Failure | null {
  const [first] = end.divergences;
  const told = world.find(({ life }) => life.customerId === first?.customerId);
  if (first === undefined || told === undefined) return null;
  const { steps, choice } = coreRound;
  const shrunk = shrinkCase({ told, steps, choice });
  if (shrunk === null) {
    return { seed, round, choice, divergences: end.divergences, told, steps, isShrunk: false };
  }
  return { seed, round, ...shrunk, divergences: runCase(shrunk), isShrunk: true };
}
