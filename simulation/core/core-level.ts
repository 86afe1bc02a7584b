import type { PlanSelection } from 'instep-engine/rule';
import { emptySummary, type LevelOptions, type Summary } from '../level.ts';
import { scheduleDeliveries } from '../lifecycle/delivery-schedule.ts';
import { addFaults } from '../lifecycle/faults.ts';
import { renderHistory } from '../lifecycle/history.ts';
import { createRandom } from '../random.ts';
import { shrinkFailure } from '../shrink.ts';
import { createWorld, withUndatedEvents } from '../world.ts';
import { runCoreCase, runCoreRound } from './core-round.ts';
import { parseHistory } from './customer-events.ts';

/** Rounds alternate between the settings, unless all have the same one. */
export function planSelectionOfRound(round: number): PlanSelection {
  return round % 2 === 0 ? 'newest' : 'best';
}

/**
 * The level `core`: the pure core in memory. Every seed is a world. Its events are parsed once and
 * delivered in many rounds, each time to an empty store. Stops at the first divergence.
 */
export async function runCoreLevel(options: LevelOptions): Promise<Summary> {
  const share = Math.ceil(options.deliveries / options.seeds);
  const sum = emptySummary();

  for (let index = 0; index < options.seeds && sum.failure === null; index += 1) {
    const seed = options.firstSeed + index;
    const world = withUndatedEvents(createWorld(seed), seed);
    const parsed = world.map(({ lifecycle, format }) =>
      parseHistory(renderHistory(lifecycle, format)),
    );
    const customers = new Map(parsed.map((one) => [one.history.customerId, one]));
    const events = parsed.flatMap(({ history }) => history.events);
    sum.seeds += 1;
    sum.customers += parsed.length;
    sum.events += events.length;

    let delivered = 0;
    let seedDigest = seed | 0;
    for (let round = 0; delivered < share && sum.failure === null; round += 1) {
      const planSelection = options.planSelection ?? planSelectionOfRound(round);
      const schedule = scheduleDeliveries(events, options.faults, createRandom(seed, 2, round));
      const { steps } = schedule;
      const { divergences, digest, snapshots } = runCoreRound({ customers, steps, planSelection });
      delivered += schedule.deliveries;
      addFaults(sum.counts, schedule.counts);
      sum.rounds += 1;
      sum.snapshots += snapshots;
      seedDigest = (Math.imul(seedDigest, 31) + digest) | 0;
      const customerId = divergences[0]?.customerId;
      const customer = world.find(({ lifecycle }) => lifecycle.customerId === customerId);
      if (customer === undefined) continue;
      const found = { seed, planSelection, divergences, customer, steps, isShrunk: false };
      sum.failure = await shrinkFailure(found, runCoreCase);
    }
    // A sum does not depend on the order in which threads finish.
    sum.digest = (sum.digest + seedDigest) >>> 0;
    sum.deliveries += delivered;
    options.onProgress?.(sum.deliveries);
  }
  return sum;
}
