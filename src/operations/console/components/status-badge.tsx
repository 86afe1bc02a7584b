import { effectOf } from '../../../core/transition.ts';
import { Badge, type Tone } from './badge.tsx';
import { UntrustedText } from './untrusted-text.tsx';

const TONES = { grants: 'good', clears: 'quiet', none: 'warning' } as const satisfies Record<
  ReturnType<typeof effectOf>,
  Tone
>;

/** A subscription's status, whatever Stripe calls it; `null`: there never was a subscription. */
export function StatusBadge({ status }: { readonly status: string | null }) {
  if (status === null) return <Badge tone="quiet">no subscription</Badge>;
  return (
    <Badge tone={TONES[effectOf(status)]}>
      <UntrustedText text={status} maxLength={40} />
    </Badge>
  );
}
