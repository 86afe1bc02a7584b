import type { ExpectedAccess, LatestStatus, TeamRecord } from './expected-team.ts';

/** A difference between the actual and the correct state. */
export type Divergence =
  | {
      readonly kind: 'team';
      readonly customerId: string;
      /** Several if the application also wrote a plan. */
      readonly expected: readonly TeamRecord[];
      readonly actual: TeamRecord | null;
    }
  /** A team with empty plan columns, although a delivery for its customer was processed. */
  | { readonly kind: 'not filled'; readonly customerId: string }
  /** `instep rebuild` would change the team. */
  | {
      readonly kind: 'rebuilt';
      readonly customerId: string;
      readonly is: TeamRecord;
      readonly shouldBe: TeamRecord;
      readonly subscriptionIds: readonly (string | null)[];
    }
  /** The whole log yields another state of the customer than was stored. */
  | { readonly kind: 'replayed'; readonly customerId: string }
  /** The latest state of a subscription has another status than the true history, or began at another time. */
  | {
      readonly kind: 'latest';
      readonly customerId: string;
      readonly expected: readonly LatestStatus[];
      readonly actual: readonly LatestStatus[];
    }
  /** The view `instep.team_access` shows another subscription or status. */
  | {
      readonly kind: 'access';
      readonly customerId: string;
      readonly expected: ExpectedAccess | null;
      readonly actual: ExpectedAccess | null;
    }
  /** An event was decided this many times instead of once. */
  | {
      readonly kind: 'count';
      readonly customerId: string;
      readonly number: number;
      readonly times: number;
    }
  /** The history of a team's plans has a gap, or does not end with the row. */
  | { readonly kind: 'history'; readonly customerId: string; readonly changes: readonly object[] }
  /** Reconciliation would change the team, although none of its events is lost. */
  | { readonly kind: 'drift'; readonly customerId: string }
  /** Still waiting, although the maintenance jobs have run. */
  | { readonly kind: 'parked' | 'ambiguous'; readonly customerId: string };

export function isSameTeam(one: TeamRecord, other: TeamRecord | undefined): boolean {
  return (
    one.providerSubscriptionId === other?.providerSubscriptionId &&
    one.providerProductId === other.providerProductId &&
    one.planName === other.planName &&
    one.subscriptionStatus === other.subscriptionStatus
  );
}

export function describeDivergence(divergence: Divergence): string {
  switch (divergence.kind) {
    case 'team':
      return `the team must be ${divergence.expected.map((one) => JSON.stringify(one)).join(' or ')}\n         but it is ${JSON.stringify(divergence.actual)}`;
    case 'not filled':
      return 'a team stays empty at a delivery for its customer';
    case 'rebuilt':
      return `instep rebuild would change ${JSON.stringify(divergence)}`;
    case 'replayed':
      return 'the whole log yields a state of the customer that differs from the stored one';
    case 'latest':
      return `the latest states must be ${JSON.stringify(divergence.expected)}\n         but they are ${JSON.stringify(divergence.actual)}`;
    case 'access':
      return `the access must be ${JSON.stringify(divergence.expected)}\n         but it is ${JSON.stringify(divergence.actual)}`;
    case 'count':
      return `event ${divergence.number} was decided ${divergence.times} times`;
    case 'history':
      return `the history of plans has a gap, or does not end with the row: ${JSON.stringify(divergence.changes)}`;
    case 'drift':
      return 'reconciliation would change the team, although no event is lost';
    case 'parked':
      return 'an event is still parked, although its customer has a team';
    case 'ambiguous':
      return 'the order of a subscription is still ambiguous, although the API has answered';
  }
}
