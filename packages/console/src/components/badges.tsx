import type { PropsWithChildren } from 'hono/jsx';
import { DELETED_TYPE, type LoggedOutcome, SNAPSHOT_TYPE, STATUSES } from 'instep-operate';
import { UntrustedText } from './text.tsx';

/** `good`: no action needed; `warning`: watch it; `bad`: needs action; `quiet`: had no effect. */
export type Tone = 'good' | 'warning' | 'bad' | 'quiet' | 'accent';

/** A word with a color. The word alone carries the meaning. */
export function Badge({ tone, children }: PropsWithChildren<{ readonly tone: Tone }>) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const OUTCOME_TONES = {
  applied: 'good',
  stale: 'quiet',
  unchanged: 'quiet',
  parked: 'warning',
  unreadable: 'bad',
} as const satisfies Record<LoggedOutcome, Tone>;

/** An outcome in words. `parked` is its code. */
export const outcomeText = (outcome: string) =>
  outcome === 'parked' ? 'waiting for a team' : outcome;

export function OutcomeBadge({ outcome }: { readonly outcome: LoggedOutcome }) {
  return <Badge tone={OUTCOME_TONES[outcome]}>{outcomeText(outcome)}</Badge>;
}

/** An event's type in one or two words. */
export function shortType(type: string): string {
  if (type === SNAPSHOT_TYPE) return 'snapshot';
  return type === DELETED_TYPE ? 'deleted' : 'updated';
}

/** A status can be any text. */
const RULES: ReadonlyMap<string, (typeof STATUSES)[keyof typeof STATUSES]> = new Map(
  Object.entries(STATUSES),
);

/** The effect of a status on a plan. An unknown status has none. */
export const effectOf = (status: string) => RULES.get(status)?.effect ?? 'none';

const EFFECT_TONES = { grants: 'good', clears: 'quiet', none: 'warning' } as const;

type StatusBadgeProps = {
  /** Also one that Stripe invents later; `null`: never had a subscription. */
  readonly status: string | null;
  /** Whether a payment is due. A plan that is past due stays `active`, which is not as it should be. */
  readonly isDue?: boolean;
};

/** A subscription's status. */
export function StatusBadge({ status, isDue = false }: StatusBadgeProps) {
  if (status === null) return <Badge tone="quiet">no subscription</Badge>;
  return (
    // Unpaid is the only status that clears a plan and can still end well.
    <Badge tone={isDue || status === 'unpaid' ? 'warning' : EFFECT_TONES[effectOf(status)]}>
      <UntrustedText text={status} maxLength={40} />
      {isDue && status !== 'unpaid' && ', payment due'}
    </Badge>
  );
}
