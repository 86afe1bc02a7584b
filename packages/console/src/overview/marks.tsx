import type { Child } from 'hono/jsx';
import { MAX_UNSEEN_MS, type Run } from 'instep/operate';
import { Time } from '../components/text.tsx';
import { incidentUrl } from '../links/event-links.tsx';

/** An event that can explain a change in the charts. An outage has an end, which is now while it lasts. */
export type Mark = {
  readonly kind: 'start' | 'deploy' | 'outage';
  readonly atMs: number;
  readonly untilMs: number;
  readonly text: string;
  /** The label above the chart; can be empty. */
  readonly label: string;
};

/** The starts, deploys and outages that follow from all runs, by time. Pure. */
export function marksOf(runs: readonly Run[], nowMs: number): Mark[] {
  const marks: Mark[] = [];
  let version: string | null = null;
  let seenMs = runs[0]?.startedAtMs ?? nowMs;
  for (const run of runs) {
    const { startedAtMs } = run;
    const wasDown = startedAtMs - seenMs > MAX_UNSEEN_MS;
    if (wasDown) marks.push(outage(seenMs, startedAtMs));
    if (run.version !== version)
      marks.push(start('deploy', run, `Version ${run.version} started`, run.version));
    // Instances that start together, or after an outage, are one mark.
    else if (startedAtMs - (marks.at(-1)?.untilMs ?? 0) > MAX_UNSEEN_MS) {
      marks.push(start('start', run, 'Instep started', ''));
    }
    version = run.version;
    seenMs = Math.max(seenMs, run.seenAtMs);
  }
  if (nowMs - seenMs > MAX_UNSEEN_MS) marks.push(outage(seenMs, nowMs));
  return marks;
}

function start(kind: 'start' | 'deploy', { startedAtMs }: Run, text: string, label: string): Mark {
  return { kind, atMs: startedAtMs, untilMs: startedAtMs, text, label };
}

function outage(atMs: number, untilMs: number): Mark {
  return {
    kind: 'outage',
    atMs,
    untilMs,
    text: 'Instep was not running, or was without its database',
    label: '',
  };
}

const MAX_LISTED = 5;

const incidentLink = ({ kind, atMs, untilMs }: Mark) =>
  kind === 'outage' && (
    <>
      .{' '}
      <a id={`outage-${atMs}`} href={incidentUrl({ sinceMs: atMs, untilMs })}>
        What happened
      </a>
    </>
  );

type MarksProps = {
  readonly marks: readonly Mark[];
  /** By default, outages have links to the page about them. */
  readonly noteOf?: (mark: Mark) => Child;
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
        .map(({ mark, kind, atMs, untilMs, text }) => (
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
            {noteOf(mark)}
          </li>
        ))}
    </ul>
  );
}
