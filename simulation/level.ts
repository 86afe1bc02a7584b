import type { PlanSelection } from 'instep-engine/rule';
import type { Divergence } from './divergence.ts';
import type { Step } from './lifecycle/delivery-schedule.ts';
import { addFaults, type FaultCounts, type Faults, noFaults } from './lifecycle/faults.ts';
import type { SimulatedCustomer } from './world.ts';

export type LevelOptions = {
  readonly firstSeed: number;
  readonly seeds: number;
  /** The total. Every seed gets the same share, in as many rounds as necessary. */
  readonly deliveries: number;
  /** `null`: both, in alternate rounds. */
  readonly planSelection: PlanSelection | null;
  readonly faults: Faults;
  readonly onProgress?: (deliveries: number) => void;
};

/** A round that diverged. */
export type Failure = {
  readonly seed: number;
  readonly planSelection: PlanSelection;
  readonly divergences: readonly Divergence[];
  /** The customer and the steps; when shrunk, the fewest changes and steps that still diverge. */
  readonly customer: SimulatedCustomer;
  readonly steps: readonly Step[];
  readonly isShrunk: boolean;
};

const NO_COUNTS = {
  seeds: 0,
  rounds: 0,
  customers: 0,
  events: 0,
  deliveries: 0,
  /** The snapshots of ambiguous subscriptions that were requested. */
  snapshots: 0,
  /** The servers that were killed. */
  kills: 0,
  /** The standbys that replaced the primary. */
  promotions: 0,
  /** How often an instance froze. */
  freezes: 0,
};

export type Summary = Readonly<typeof NO_COUNTS> & {
  readonly counts: Readonly<FaultCounts>;
  /** Equal for two runs of the level `core` with the same options; zero at other levels. */
  readonly digest: number;
  readonly failure: Failure | null;
};

/** A mutable summary for counting. */
export function emptySummary() {
  return { ...NO_COUNTS, counts: noFaults(), digest: 0, failure: null as Failure | null };
}

/** The sum of two runs, with the failure of the first one that diverged. */
export function addSummaries(one: Summary, other: Summary): Summary {
  const sum = { ...emptySummary(), failure: one.failure ?? other.failure };
  for (const { counts, digest, ...numbers } of [one, other]) {
    addFaults(sum.counts, counts);
    sum.digest = (sum.digest + digest) >>> 0;
    for (const name of Object.keys(NO_COUNTS) as (keyof typeof NO_COUNTS)[]) {
      sum[name] += numbers[name];
    }
  }
  return sum;
}
