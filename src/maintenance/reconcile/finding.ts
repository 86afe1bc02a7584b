import type { TeamPlan } from '../../core/transition.ts';
import type { Drift, DriftCause } from './drift.ts';

/** What a reconciliation has found. */
export type Finding =
  | {
      readonly kind: 'drift';
      readonly teamId: number;
      readonly customerId: string;
      readonly cause: DriftCause;
      readonly subscriptionIds: readonly string[];
      /** It is no older than that, in seconds since 1970; `null` when nothing tells. */
      readonly sinceSeconds: number | null;
      readonly is: TeamPlan;
      readonly shouldBe: TeamPlan;
      readonly isMended: boolean;
    }
  /** Somebody has a subscription that is not over, and nobody gets anything for it. */
  | {
      readonly kind: 'customer without a team';
      readonly customerId: string;
      readonly statuses: readonly string[];
    }
  | { readonly kind: 'unknown customer'; readonly teamId: number; readonly customerId: string };

/** What was found of a drift. */
export function findingOf(drift: Drift, isMended: boolean): Finding {
  const { team, cause, subscriptionIds, sinceSeconds, shouldBe } = drift;
  const { id: teamId, customerId, plan: is } = team;
  return {
    kind: 'drift',
    teamId,
    customerId,
    cause,
    subscriptionIds,
    sinceSeconds,
    is,
    shouldBe,
    isMended,
  };
}

/** How much was looked at, and how much of it was found. */
export type Counts = {
  readonly subscriptions: number;
  /** Of no shape that we know. */
  readonly unreadable: number;
  readonly teams: number;
  readonly drifts: number;
  readonly repaired: number;
  readonly customersWithoutTeam: number;
  readonly unknownCustomers: number;
};

export const NOTHING_COUNTED: Counts = {
  subscriptions: 0,
  unreadable: 0,
  teams: 0,
  drifts: 0,
  repaired: 0,
  customersWithoutTeam: 0,
  unknownCustomers: 0,
};
