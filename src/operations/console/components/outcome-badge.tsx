import type { LoggedOutcome } from '../../../core/logged-event.ts';
import { Badge, type Tone } from './badge.tsx';

const TONES = {
  applied: 'good',
  stale: 'quiet',
  unchanged: 'quiet',
  parked: 'warning',
  unreadable: 'bad',
} as const satisfies Record<LoggedOutcome, Tone>;

/** What came of an event. */
export function OutcomeBadge({ outcome }: { readonly outcome: LoggedOutcome }) {
  return <Badge tone={TONES[outcome]}>{outcome}</Badge>;
}
