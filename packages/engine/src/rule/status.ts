/** The effect of a status on a team: it grants the plan, clears it, or changes nothing. */
type Effect = 'grants' | 'clears' | 'none';

export type Access = 'yes' | 'no' | 'in grace';

type StatusMeaning = {
  /** Whether a subscription with this status has ended: no other status follows. */
  readonly hasEnded: boolean;
  /** Whether Stripe charges for it, or will after a trial. */
  readonly isCharged: boolean;
  /** Whether the team may use the product (docs/access.md): `in grace` while `PAST_DUE_GRACE` lasts. */
  readonly access: Access;
} & (
  | {
      readonly effect: 'grants';
      /** Above 0. Of several subscriptions that grant a plan, the one with the highest rank is the best. */
      readonly rank: number;
    }
  | { readonly effect: Exclude<Effect, 'grants'> }
);

/** The statuses of a subscription at Stripe, with their effects on a team (docs/contract.md, section 3). */
export const STATUSES = {
  incomplete: { effect: 'none', access: 'no', isCharged: false, hasEnded: false },
  incomplete_expired: { effect: 'none', access: 'no', isCharged: false, hasEnded: true },
  trialing: { effect: 'grants', rank: 1, access: 'yes', isCharged: true, hasEnded: false },
  active: { effect: 'grants', rank: 2, access: 'yes', isCharged: true, hasEnded: false },
  past_due: { effect: 'none', access: 'in grace', isCharged: true, hasEnded: false },
  unpaid: { effect: 'clears', access: 'no', isCharged: false, hasEnded: false },
  paused: { effect: 'none', access: 'no', isCharged: false, hasEnded: false },
  canceled: { effect: 'clears', access: 'no', isCharged: false, hasEnded: true },
} as const satisfies Readonly<Record<string, StatusMeaning>>;

export type Status = keyof typeof STATUSES;

/** The statuses with this effect. */
export type StatusWith<Wanted extends Effect> = {
  [Name in Status]: (typeof STATUSES)[Name]['effect'] extends Wanted ? Name : never;
}[Status];

/** A map, because a status comes from Stripe or the application and can be any text, even `toString`. */
const MEANINGS: ReadonlyMap<string | null, StatusMeaning> = new Map(Object.entries(STATUSES));

/** The effect of a status. An unknown one has none. */
export function effectOf(status: string | null): Effect {
  return MEANINGS.get(status)?.effect ?? 'none';
}

/** How good a status is for the team: 0 unless it grants a plan. */
export function rankOf(status: string): number {
  const meaning = MEANINGS.get(status);
  return meaning?.effect === 'grants' ? meaning.rank : 0;
}

/** The statuses that grant a plan, the best one first. */
export const GRANTING_STATUSES: readonly string[] = Object.keys(STATUSES)
  .filter((status) => effectOf(status) === 'grants')
  .sort((a, b) => rankOf(b) - rankOf(a));

const statusesThat = (matches: (meaning: StatusMeaning) => boolean): readonly string[] =>
  Object.entries(STATUSES).flatMap(([status, meaning]) => (matches(meaning) ? status : []));

/** The statuses of subscriptions that have ended. */
export const ENDED_STATUSES = statusesThat(({ hasEnded }) => hasEnded);

/** Whether Stripe charges for a subscription with this status, or will after a trial. */
export function isCharged(status: string): boolean {
  return MEANINGS.get(status)?.isCharged ?? false;
}

/** The statuses that give access to this extent. */
export const statusesWithAccess = (access: Access) =>
  statusesThat((meaning) => meaning.access === access);

/** Whether the team may use the product; `null`: the status is new at Stripe. */
export function accessOf(status: string): Access | null {
  return MEANINGS.get(status)?.access ?? null;
}

/** Whether a payment of a subscription with this status is due. */
export function isPaymentDue(status: string): boolean {
  return status === 'past_due' || status === 'unpaid';
}
