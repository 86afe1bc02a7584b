// Reads what the view `instep.team_access` says about a team, and stores the policy by which it decides. The app, the
// commands and the operators' API ask here.

import {
  type ApplicationId,
  type ApplicationTables,
  idFrom,
  onlyRow,
  type Query,
} from 'instep-engine/postgres';
import type { Status } from 'instep-engine/rule';
import { durationSetting } from 'instep-engine/runtime';
import type { AccessPolicy } from '../config/config.ts';

/**
 * Why a team has access or not: mostly the status of the subscription that decides. `past_due` has access (in its
 * grace, if there is one), and `past_due_expired` had it until the grace ended. `none`: the team has no customer, or the
 * customer no subscription. `app`: by a plan that the application gave away, and no subscription gives access.
 * `unknown_status`: a status that this version does not know; it changes nothing. `end_not_confirmed`: the end of the
 * subscription passed a day ago, and no event has come since.
 */
export type AccessReason =
  | Status
  | 'past_due_expired'
  | 'end_not_confirmed'
  | 'none'
  | 'app'
  | 'unknown_status';

/** A row of the view `instep.team_access` (docs/access.md). A fact that Stripe has not sent is `null`. */
export type TeamAccess = {
  readonly teamId: ApplicationId;
  /** Whether the team may use the product now. */
  readonly hasAccess: boolean;
  readonly reason: AccessReason;
  readonly planName: string | null;
  readonly productId: string | null;
  /** The subscription that decides. */
  readonly subscriptionId: string | null;
  readonly quantity: number | null;
  /** The subscription's status at Stripe, as Stripe writes it. */
  readonly status: string | null;
  /** Since when the reason holds. */
  readonly since: Date | null;
  /** When access ends if nothing else happens; `null` if it has ended or no end is known. */
  readonly endsAt: Date | null;
  readonly trialEndsAt: Date | null;
  readonly currentPeriodEndsAt: Date | null;
  readonly cancelAtPeriodEnd: boolean | null;
  /** The first past-due event that no event with another status has followed. */
  readonly paymentDueSince: Date | null;
  /** Whether Stripe collects no payments for the subscription for now. */
  readonly collectionPaused: boolean | null;
};

const READ_ACCESS = ({ teams }: ApplicationTables) => `
      select team_id as "teamId",
             has_access as "hasAccess",
             reason,
             plan_name as "planName",
             product_id as "productId",
             subscription_id as "subscriptionId",
             quantity,
             status,
             since,
             ends_at as "endsAt",
             trial_ends_at as "trialEndsAt",
             current_period_ends_at as "currentPeriodEndsAt",
             cancel_at_period_end as "cancelAtPeriodEnd",
             payment_due_since as "paymentDueSince",
             collection_paused as "collectionPaused"
        from instep.team_access
       where team_id = ${idFrom(teams.id.type, '$1::text')}`;

/** The access of a team; `null` if there is no team with this id. */
export async function readAccess(query: Query, teamId: ApplicationId): Promise<TeamAccess | null> {
  const [access] = await query<TeamAccess>({
    name: 'read_access',
    text: READ_ACCESS,
    values: [teamId],
  });
  return access ?? null;
}

/** The policy as environment variables. */
export function policyText({ planSelection, pastDueGraceMs }: AccessPolicy): string {
  const grace = pastDueGraceMs === null ? 'off' : durationSetting(pastDueGraceMs);
  return `TEAM_PLAN=${planSelection} PAST_DUE_GRACE=${grace}`;
}

const POLICY_DIFFERS = `
  (plan_selection, past_due_grace) is distinct from ($1, $2 * interval '1 millisecond')`;

/** Stores the policy, by which the view `instep.team_access` decides. */
export async function storePolicy(query: Query, policy: AccessPolicy): Promise<void> {
  await query({
    name: 'store_access_policy',
    text: `
      update instep.access_policy
         set plan_selection = $1,
             past_due_grace = $2 * interval '1 millisecond',
             other_policy   = null,
             other_seen_at  = null
       where ${POLICY_DIFFERS}`,
    values: [policy.planSelection, policy.pastDueGraceMs],
  });
}

/** Says that an instance is running whose policy is not the one that the view decides by. */
export async function reportOtherPolicy(query: Query, policy: AccessPolicy): Promise<void> {
  await query({
    name: 'report_other_policy',
    text: `
      update instep.access_policy
         set other_policy  = $3,
             other_seen_at = now()
       where ${POLICY_DIFFERS}`,
    values: [policy.planSelection, policy.pastDueGraceMs, policyText(policy)],
  });
}

/** The policy by which the view decides. */
export async function readPolicy(query: Query): Promise<AccessPolicy> {
  return await onlyRow<AccessPolicy>(query, {
    name: 'read_access_policy',
    text: `
      select plan_selection as "planSelection",
             (extract(epoch from past_due_grace) * 1000)::bigint as "pastDueGraceMs"
        from instep.access_policy`,
  });
}

/** Instances report every minute. */
const REPORTED = `interval '3 minutes'`;

/** The policy of an instance that is running with another one than the view decides by, as text; `null`: none is. */
export async function readOtherPolicy(query: Query): Promise<string | null> {
  const [row] = await query<{ policy: string }>({
    name: 'read_other_policy',
    text: `
      select other_policy as policy
        from instep.access_policy
       where other_seen_at > now() - ${REPORTED}`,
  });
  return row?.policy ?? null;
}
