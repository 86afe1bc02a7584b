import type { ApplicationId } from '../core/application.ts';
import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';

/**
 * Why a team has access or not: mostly the status of the subscription that decides. `past_due` has access (in its
 * grace, if there is one), and `past_due_expired` had it until the grace ended. `none`: the team never had a
 * subscription. `unknown_status`: a status that this version does not know; it changes nothing.
 */
export type AccessReason =
  | 'active'
  | 'trialing'
  | 'past_due'
  | 'past_due_expired'
  | 'paused'
  | 'unpaid'
  | 'canceled'
  | 'incomplete'
  | 'incomplete_expired'
  | 'none'
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
  /** The first past-due event since the last payment. */
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
       where team_id = ${idFrom(teams.idType, '$1::text')}`;

/** The access of a team; `null` if there is no team with this id. */
export async function readAccess(query: Query, teamId: ApplicationId): Promise<TeamAccess | null> {
  const [access] = await query<TeamAccess>({
    name: 'read_access',
    text: READ_ACCESS,
    values: [teamId],
  });
  return access ?? null;
}
