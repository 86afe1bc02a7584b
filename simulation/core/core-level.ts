import type { PlanSelection } from '../../src/core/plan-selection.ts';
import { scheduleDeliveries } from '../../src/testing/lifecycle/delivery-schedule.ts';
import { addFaults, noFaults } from '../../src/testing/lifecycle/faults.ts';
import { tellLife } from '../../src/testing/lifecycle/history.ts';
import { createRandom } from '../../src/testing/random.ts';
import type { Failure, LevelOptions, Summary } from '../level.ts';
import { shrinkFailure } from '../shrink-case.ts';
import { createWorld } from '../world.ts';
import { runCoreRound } from './core-round.ts';
import { readHistory } from './customer-events.ts';
import { runCase } from './run-case.ts';

const CHOICES: readonly [PlanSelection, PlanSelection] = ['newest', 'best'];

/** Which setting a round has, unless all have the same. */
export function choiceOfRound(round: number): PlanSelection {
  return CHOICES[round % 2 === 0 ? 0 : 1];
}

/**
 * The level `core`: the pure core in memory. Every seed is a world; its events are read once and
 * delivered in many rounds, each time to an empty store. Stops at the first divergence.
 */
export async function runCoreLevel(options: LevelOptions): Promise<Summary> {
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
      const planSelection = options.planSelection ?? choiceOfRound(round);
      const schedule = scheduleDeliveries(events, options.faults, createRandom(seed, 2, round));
      const { steps } = schedule;
      const end = runCoreRound({ audiences, steps, planSelection });
      delivered += schedule.deliveries;
      addFaults(counts, schedule.counts);
      sum.rounds += 1;
      sum.looks += end.looks;
      seedDigest = (Math.imul(seedDigest, 31) + end.digest) | 0;
      const { divergences } = end;
      const told = world.find(({ life }) => life.customerId === divergences[0]?.customerId);
      if (told === undefined) continue;
      const found = { seed, round, planSelection, divergences, told, steps, isShrunk: false };
      failure = await shrinkFailure(found, runCase);
    }
    // A sum: whatever the order in which threads come to an end, it is the same.
    digest = (digest + seedDigest) >>> 0;
    sum.deliveries += delivered;
    options.onProgress?.(sum.deliveries);
  }
  return { ...sum, counts, digest, failure };
}
