import type { ApplicationId } from '../../core/application-id.ts';
import { isSamePlan, type TeamPlan } from '../../core/transition.ts';
import type { FoundProblem, Problem } from '../../postgres/statements/findings.ts';
import type { Drift, DriftCause } from './drift.ts';

/** A team has another plan than it should have. */
export type DriftFinding = {
  readonly kind: 'drift';
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly cause: DriftCause;
  readonly subscriptionIds: readonly string[];
  /** When the drift began at the earliest, in seconds since 1970; `null` when it is unknown. */
  readonly sinceSeconds: number | null;
  readonly is: TeamPlan;
  readonly shouldBe: TeamPlan;
  readonly isRepaired: boolean;
};

/** A finding of a reconciliation. */
export type Finding =
  | DriftFinding
  /** A team has the right plan already, but an event of its customer was missed or never sent. */
  | {
      readonly kind: 'unrecorded';
      readonly teamId: ApplicationId;
      readonly customerId: string;
      readonly subscriptionIds: readonly string[];
    }
  /** A customer has a subscription that has not ended, and no team gets its plan. */
  | {
      readonly kind: 'customer without a team';
      readonly customerId: string;
      readonly statuses: readonly string[];
    }
  /** Stripe does not have the customer of a team. */
  | {
      readonly kind: 'unknown customer';
      readonly teamId: ApplicationId;
      readonly customerId: string;
    };

/** Whether the team has the right plan, so that only the log lacks something. */
export function isRight({ team, shouldBe }: Drift): boolean {
  return isSamePlan(team.plan, shouldBe);
}

export function findingOf(drift: Drift, isRepaired: boolean): Finding {
  const { team, snapshots: _, ...found } = drift;
  const { id: teamId, customerId, plan: is } = team;
  const { subscriptionIds } = found;
  if (isRight(drift)) return { kind: 'unrecorded', teamId, customerId, subscriptionIds };
  return { kind: 'drift', teamId, customerId, ...found, is, isRepaired };
}

/** Turns a drift into an entry of the list of issues. */
export function problemOf(drift: Drift, isDryRun: boolean): FoundProblem {
  const { team, shouldBe, sinceSeconds } = drift;
  const { id: teamId, customerId, plan } = team;
  const problem = isDryRun ? problemOfCause(drift) : 'plan refused';
  return { problem, teamId, customerId, plan, shouldBe, beganSeconds: sinceSeconds };
}

/** Only Stripe shows that a name is wrong, so a comparison without Stripe must not remove the finding. */
function problemOfCause({ cause, team: { plan }, shouldBe }: Drift): Problem {
  const isOnlyName = isSamePlan({ ...plan, planName: null }, { ...shouldBe, planName: null });
  return cause === 'changed by hand' && isOnlyName ? 'another plan name' : cause;
}

/** A customer without a team, or a team whose customer Stripe does not know. */
export function unmatched(customerId: string, teamId: ApplicationId | null): FoundProblem {
  const problem = teamId === null ? 'customer without a team' : 'unknown customer';
  return { problem, teamId, customerId, plan: null, shouldBe: null, beganSeconds: null };
}
