import type { Interruption } from 'instep/operate';
import { Time } from '../components/text.tsx';

/** What has happened, in words. */
export function markText({ kind, version }: Interruption): string {
  if (kind === 'outage') return 'Instep was not running, or was without its database';
  return kind === 'deploy' ? `Version ${version} started` : 'Instep started';
}

const MAX_LISTED = 5;

/** The same in words, the newest first. */
export function Marks({ marks }: { readonly marks: readonly Interruption[] }) {
  if (marks.length === 0) return null;
  return (
    <ul class="marks">
      {marks
        .slice(-MAX_LISTED)
        .reverse()
        .map((mark) => ({ ...mark, text: markText(mark) }))
        .map(({ kind, atMs, untilMs, text }) => (
          <li>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <path class={kind} d={kind === 'outage' ? 'M0 0H10V10H0z' : 'M5 0V10'} />
            </svg>
            <Time ms={atMs} />
            {kind === 'outage' && (
              <>
                {'\u00A0to '}
                <Time ms={untilMs} />
              </>
            )}
            : {text}
          </li>
        ))}
    </ul>
  );
}
