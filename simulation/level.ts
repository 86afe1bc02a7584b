import type { PlanSelection } from '../src/core/plan-selection.ts';
import type { Step } from '../src/testing/lifecycle/delivery-schedule.ts';
import {
  addFaults,
  type FaultCounts,
  type Faults,
  noFaults,
} from '../src/testing/lifecycle/faults.ts';
import type { Divergence } from './divergence.ts';
import type { Told } from './world.ts';

/** What every level is told. */
export type LevelOptions = {
  readonly firstSeed: number;
  readonly seeds: number;
  /** Together; every seed gets the same share, in as many rounds as it takes. */
  readonly deliveries: number;
  /** `null`: one round with the one, the next with the other. */
  readonly planSelection: PlanSelection | null;
  readonly faults: Faults;
  readonly onProgress?: (deliveries: number) => void;
};

/** A round that diverged. */
export type Failure = {
  readonly seed: number;
  readonly round: number;
  readonly planSelection: PlanSelection;
  readonly divergences: readonly Divergence[];
  /** The customer's life and the steps: the fewest that still diverge, where that was to be had. */
  readonly told: Told;
  readonly steps: readonly Step[];
  readonly isShrunk: boolean;
};

export type Summary = {
  readonly seeds: number;
  readonly rounds: number;
  readonly customers: number;
  readonly events: number;
  readonly deliveries: number;
  /** How often the API was asked for a subscription that was marked. */
  readonly looks: number;
  /** How many servers were killed. */
  readonly kills: number;
  readonly counts: FaultCounts;
  /** Two runs of the level `core` with the same options have the same; zero at other levels. */
  readonly digest: number;
  readonly failure: Failure | null;
};

/** What two runs come to together; of two divergences the first run's. */
export function addSummaries(one: Summary, other: Summary): Summary {
  const counts = noFaults();
  addFaults(counts, one.counts);
  addFaults(counts, other.counts);
  return {
    seeds: one.seeds + other.seeds,
    rounds: one.rounds + other.rounds,
    customers: one.customers + other.customers,
    events: one.events + other.events,
    deliveries: one.deliveries + other.deliveries,
    looks: one.looks + other.looks,
    kills: one.kills + other.kills,
    counts,
    digest: (one.digest + other.digest) >>> 0,
    failure: one.failure ?? other.failure,
  };
}
