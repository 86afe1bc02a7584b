import type { TeamRecord } from './auditor.ts';

/** Where what is differs from what must be. */
export type Divergence =
  | {
      readonly kind: 'team';
      readonly customerId: string;
      readonly expected: TeamRecord;
      readonly actual: TeamRecord | undefined;
    }
  /** What `instep rebuild` would make of it is not what it is. */
  | {
      readonly kind: 'rebuilt';
      readonly customerId: string;
      readonly is: TeamRecord;
      readonly shouldBe: TeamRecord;
      readonly subscriptionIds: readonly (string | null)[];
    }
  /** An event was decided on this often, and not once. */
  | {
      readonly kind: 'count';
      readonly customerId: string;
      readonly number: number;
      readonly times: number;
    }
  /** A reconciliation would change it, although nothing of it is lost. */
  | { readonly kind: 'drift'; readonly customerId: string }
  /** Still waiting, although the keeper had its turn. */
  | { readonly kind: 'parked' | 'marked'; readonly customerId: string };

/** Whether two teams are the same. */
export function isSameTeam(one: TeamRecord, other: TeamRecord | undefined): boolean {
  return (
    one.providerSubscriptionId === other?.providerSubscriptionId &&
    one.providerProductId === other.providerProductId &&
    one.planName === other.planName &&
    one.subscriptionStatus === other.subscriptionStatus
  );
}

/** A divergence in a line or two for a person. */
export function describeDivergence(divergence: Divergence): string {
  switch (divergence.kind) {
    case 'team':
      return `the team must be ${JSON.stringify(divergence.expected)}\n            and is ${JSON.stringify(divergence.actual ?? null)}`;
    case 'rebuilt':
      return `instep rebuild would change ${JSON.stringify(divergence)}`;
    case 'count':
      return `event ${divergence.number} was decided on ${divergence.times} times`;
    case 'drift':
      return 'a reconciliation would change the team, although nothing is lost';
    case 'parked':
      return 'an event is still parked, although its customer has a team';
    case 'marked':
      return 'a subscription is still marked, although the API has answered';
  }
}
