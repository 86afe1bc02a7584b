import type { Child } from 'hono/jsx';
import type { Replayed } from '../../../event-log/replay.ts';
import { TeamLinks } from '../components/team-links.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';

/** What came of an event that went through the one door again, in words. */
export function ReplayNotice({ replayed }: { readonly replayed: Replayed }) {
  return (
    <div class="notice" role="status">
      <strong>Replayed.</strong> {wordsFor(replayed)}
    </div>
  );
}

function wordsFor({ outcome, teamIds, error }: Replayed): Child {
  switch (outcome) {
    case 'applied':
      return (
        <>
          It is applied now: <TeamLinks ids={teamIds} /> follows it.
        </>
      );
    case 'stale':
      return 'It is decided on now: something newer was there, so it changes nothing.';
    case 'unchanged':
      return 'It is decided on now: it changes nothing.';
    case 'parked':
      return 'It is still parked: no team has its customer.';
    case 'unreadable':
      return 'This Instep cannot read it either. Nothing was changed.';
    case 'duplicate':
      return 'It was decided on before, and what was decided stays. Nothing was changed.';
    case 'left out':
      return "It is a look at Stripe's API of ours, which says how things were then. Nothing was changed.";
    case 'failed':
      return (
        <>
          The database refused it, and nothing was changed:{' '}
          <UntrustedText text={error?.message ?? 'it did not say why'} />
        </>
      );
  }
}
