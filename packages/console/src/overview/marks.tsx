import type { Child } from 'hono/jsx';
import type { Interruption } from 'instep/operate';
import { Time } from '../components/text.tsx';
import { incidentUrl } from '../links/event-links.tsx';

/** What has happened, in words. */
export function markText({ kind, version }: Interruption): string {
  if (kind === 'outage') return 'Instep was not running, or was without its database';
  return kind === 'deploy' ? `Version ${version} started` : 'Instep started';
}

const MAX_LISTED = 5;

const incidentLink = ({ kind, atMs, untilMs }: Interruption) =>
  kind === 'outage' && (
    <>
      .{' '}
      <a id={`outage-${atMs}`} href={incidentUrl({ sinceMs: atMs, untilMs })}>
        What happened
      </a>
    </>
  );

type MarksProps = {
  readonly marks: readonly Interruption[];
  /** By default, outages have links to the page about them. */
  readonly noteOf?: (mark: Interruption) => Child;
};

/** The same in words, the newest first. */
export function Marks({ marks, noteOf = incidentLink }: MarksProps) {
  if (marks.length === 0) return null;
  return (
    <ul class="marks">
      {marks
        .slice(-MAX_LISTED)
        .reverse()
        .map((mark) => ({ mark, ...mark }))
        .map(({ mark, kind, atMs, untilMs }) => (
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
            : {markText(mark)}
            {noteOf(mark)}
          </li>
        ))}
    </ul>
  );
}
