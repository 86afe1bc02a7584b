import type { HistoryEntry, LoggedOutcome } from 'instep/operate';
import { effectOf } from '../components/badges.tsx';
import { Time } from '../components/text.tsx';
import { shortType } from '../links/event-links.tsx';
import { rowId } from './history-table.tsx';
import {
  type Bar,
  type Lane,
  layOutTimeline,
  type Mark,
  shortPlan,
  TICK_WIDTH,
} from './timeline.ts';

const CHARACTER_WIDTH = 7.5;
const BAR_HEIGHT = 24;
const MAX_LABEL = 60;

const SHOWN_OUTCOMES = ['applied', 'stale', 'unchanged', 'parked'] as const;

type TimelineChartProps = {
  readonly entries: readonly HistoryEntry[];
  /** Whether they are the newest, so that the timeline ends now. */
  readonly isNewest: boolean;
};

/**
 * Draws a customer's events and the team's plans. The table below the chart has the same data, and the rows
 * that the marks link to.
 */
export function TimelineChart({ entries, isNewest }: TimelineChartProps) {
  const { width, height, lanes, bars, barsTop, ticks, end } = layOutTimeline(entries);
  const ticksTop = height - 22;
  return (
    <figure class="timeline">
      <section class="scroll" aria-label="Timeline" tabindex={0}>
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          aria-labelledby="timeline-title timeline-description"
        >
          <title id="timeline-title">The customer's events and the team's plans</title>
          <desc id="timeline-description">{descriptionOf(entries, bars)}</desc>
          {ticks.map(({ x, atMs }) => (
            <>
              <line class="tick" x1={x} x2={x} y1={0} y2={ticksTop} />
              <foreignObject x={x} y={ticksTop} width={TICK_WIDTH} height={22}>
                <Time ms={atMs} />
              </foreignObject>
            </>
          ))}
          <line class="tick" x1={end} x2={end} y1={0} y2={ticksTop} />
          <text x={end} y={ticksTop + 13} text-anchor="end">
            {isNewest ? 'now' : 'newer'}
          </text>
          {lanes.map((lane) => (
            <LaneDrawing lane={lane} end={end} />
          ))}
          {bars.map((bar) => (
            <BarDrawing bar={bar} y={barsTop} />
          ))}
        </svg>
      </section>
      <figcaption class="legend">
        {SHOWN_OUTCOMES.map((outcome) => (
          <span>
            <svg width={16} height={16} viewBox="-8 -8 16 16" aria-hidden="true">
              <Shape outcome={outcome} />
            </svg>{' '}
            {outcome}
          </span>
        ))}
        <span class="quiet">Stripe time; spacing is not to scale</span>
      </figcaption>
    </figure>
  );
}

function LaneDrawing({ lane, end }: { readonly lane: Lane; readonly end: number }) {
  const { subscriptionId, y, marks } = lane;
  return (
    <g>
      {/* At the end that is in view where the timeline is too wide */}
      <text x={end} y={y - 16} text-anchor="end">
        {cut(subscriptionId ?? 'no subscription', MAX_LABEL)}
      </text>
      <line class="lane" x1={0} x2={end} y1={y} y2={y} />
      {marks.map((mark) => (
        <MarkDrawing mark={mark} y={y} />
      ))}
    </g>
  );
}

function MarkDrawing({ mark, y }: { readonly mark: Mark; readonly y: number }) {
  const { event, subscription } = mark.entry;
  const name = cut(event.eventId ?? `event ${event.position}`, MAX_LABEL);
  const label = `${name}: ${shortType(event.type)}, ${cut(subscription.status, MAX_LABEL)}, ${event.outcome}`;
  return (
    <a
      href={`#${rowId(event)}`}
      aria-label={label.toWellFormed()}
      transform={`translate(${mark.x} ${y})`}
    >
      <title>{label}</title>
      <Shape outcome={event.outcome} />
    </a>
  );
}

/** Outcomes differ in shape as well as in color. */
function Shape({ outcome }: { readonly outcome: LoggedOutcome }) {
  switch (outcome) {
    case 'applied':
      return <circle class="mark applied" r={6} />;
    case 'stale':
      return <path class="mark stale" d="M0 -6 L6 0 L0 6 L-6 0 Z" />;
    case 'unchanged':
      return <circle class="mark unchanged" r={4} />;
    case 'parked':
    case 'unreadable':
      return <path class="mark parked" d="M0 -6 L6 5 L-6 5 Z" />;
  }
}

function BarDrawing({ bar, y }: { readonly bar: Bar; readonly y: number }) {
  const { x, width, plan } = bar;
  const none = effectOf(plan?.subscriptionStatus ?? '') === 'grants' ? '' : ' none';
  const label = shortPlan(plan);
  const room = Math.floor((width - 12) / CHARACTER_WIDTH);
  return (
    <g>
      <title>{cut(label, MAX_LABEL)}</title>
      <rect
        class={`plan${none}`}
        {...{ x, y, width: Math.max(1, width - 1), height: BAR_HEIGHT, rx: 3 }}
      />
      {room >= 3 && (
        <text class={`plan-name${none}`} x={x + 6} y={y + 16}>
          {cut(label, Math.min(room, MAX_LABEL))}
        </text>
      )}
    </g>
  );
}

/** For screen readers. */
function descriptionOf(entries: readonly HistoryEntry[], bars: readonly Bar[]): string {
  const events = SHOWN_OUTCOMES.map((outcome) => ({
    outcome,
    count: entries.filter(({ event }) => event.outcome === outcome).length,
  }))
    .filter(({ count }) => count > 0)
    .map(({ outcome, count }) => `${count} ${outcome}`);
  const plans = bars.map(({ plan }) => cut(shortPlan(plan), MAX_LABEL)).join(', then ');
  return `${entries.length} events: ${events.join(', ')}. Plans: ${plans || 'none'}.`;
}

function cut(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
