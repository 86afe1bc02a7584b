/** The effect of a status on a team: it grants the plan, clears it, or changes nothing. */
type Effect = 'grants' | 'clears' | 'none';

type StatusRule = {
  /** Whether a subscription with this status has ended: no other status follows. */
  readonly hasEnded: boolean;
  /** Whether Stripe charges for it, or will after a trial. */
  readonly isCharged?: true;
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
  incomplete: { effect: 'none', hasEnded: false },
  incomplete_expired: { effect: 'none', hasEnded: true },
  trialing: { effect: 'grants', rank: 1, hasEnded: false, isCharged: true },
  active: { effect: 'grants', rank: 2, hasEnded: false, isCharged: true },
  past_due: { effect: 'none', hasEnded: false, isCharged: true },
  unpaid: { effect: 'clears', hasEnded: false },
  paused: { effect: 'none', hasEnded: false },
  canceled: { effect: 'clears', hasEnded: true },
} as const satisfies Readonly<Record<string, StatusRule>>;

export type Status = keyof typeof STATUSES;

/** The statuses with this effect. */
export type StatusWith<Wanted extends Effect> = {
  [Name in Status]: (typeof STATUSES)[Name]['effect'] extends Wanted ? Name : never;
}[Status];

/** A map, because a status comes from Stripe or the application and can be any text, even `toString`. */
const RULES: ReadonlyMap<string | null, StatusRule> = new Map(Object.entries(STATUSES));

/** The effect of a status. An unknown one has none. */
export function effectOf(status: string | null): Effect {
  return RULES.get(status)?.effect ?? 'none';
}

/** How good a status is for the team: 0 unless it grants a plan. */
export function rankOf(status: string): number {
  const rule = RULES.get(status);
  return rule?.effect === 'grants' ? rule.rank : 0;
}

/** The statuses that grant a plan, the best one first. */
export const GRANTING_STATUSES: readonly string[] = Object.keys(STATUSES)
  .filter((status) => effectOf(status) === 'grants')
  .sort((one, other) => rankOf(other) - rankOf(one));

/** The statuses of subscriptions that have ended. */
export const ENDED_STATUSES: readonly string[] = Object.entries(STATUSES)
  .filter(([, { hasEnded }]) => hasEnded)
  .map(([status]) => status);

/** Whether Stripe charges for a subscription with this status, or will after a trial. */
export function isCharged(status: string): boolean {
  return RULES.get(status)?.isCharged ?? false;
}

/** The statuses of subscriptions that Stripe charges for. */
export const CHARGED_STATUSES: readonly string[] = Object.entries(STATUSES)
  .filter(([, rule]) => 'isCharged' in rule)
  .map(([status]) => status);
