import type { LoggedOutcome } from '../../../core/logged-event.ts';
import { effectOf } from '../../../core/transition.ts';
import type { HistoryEntry } from '../../../event-log/explain-history.ts';
import { Moment } from '../components/moment.tsx';
import { shortType } from '../events/event-link.ts';
import { type Bar, drawTimeLine, type Lane, type Mark, shortPlan } from './timeline.ts';

/** Where the words in a bar end, at about so many pixels a character. */
const CHARACTER_WIDTH = 7.5;
const BAR_HEIGHT = 24;
const MAX_LABEL = 60;

const SHOWN_OUTCOMES = ['applied', 'stale', 'unchanged', 'parked'] as const;

/** The events of a customer and the team's plans, as a picture. The table beneath says the same. */
export function TimeLinePicture({ entries }: { readonly entries: readonly HistoryEntry[] }) {
  const { width, height, lanes, bars, barsTop, ticks } = drawTimeLine(entries);
  return (
    <figure class="time-line">
      <section class="scroll" aria-label="Time line" tabindex={0}>
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-labelledby="time-line-title time-line-text"
        >
          <title id="time-line-title">The events of the customer, and the team's plans</title>
          <desc id="time-line-text">{described(entries, bars)}</desc>
          {ticks.map(({ x, atMs }) => (
            <>
              <line class="tick" x1={x} x2={x} y1={0} y2={height - 22} />
              <foreignObject x={x} y={height - 22} width={150} height={22}>
                <Moment at={new Date(atMs)} />
              </foreignObject>
            </>
          ))}
          {lanes.map((lane) => (
            <LanePart lane={lane} width={width} />
          ))}
          {bars.map((bar) => (
            <BarPart bar={bar} y={barsTop} />
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
        <span class="quiet">By Stripe's clock; the more happened, the more room.</span>
      </figcaption>
    </figure>
  );
}

function LanePart({ lane, width }: { readonly lane: Lane; readonly width: number }) {
  const { subscriptionId, y, marks } = lane;
  return (
    <g>
      <text class="lane-name" x={4} y={y - 16}>
        {cut(subscriptionId ?? 'no subscription named', MAX_LABEL)}
      </text>
      <line class="lane" x1={0} x2={width} y1={y} y2={y} />
      {marks.map((mark) => (
        <MarkPart mark={mark} y={y} />
      ))}
    </g>
  );
}

function MarkPart({ mark, y }: { readonly mark: Mark; readonly y: number }) {
  const { event, subscription } = mark.entry;
  const name = event.eventId ?? `position ${event.position}`;
  return (
    <g transform={`translate(${mark.x} ${y})`}>
      <title>{`${cut(name, MAX_LABEL)}: ${shortType(event.type)}, ${subscription.status}, ${event.outcome}`}</title>
      <Shape outcome={event.outcome} />
    </g>
  );
}

/** Each outcome has a shape of its own, so that none is told by its colour alone. */
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

function BarPart({ bar, y }: { readonly bar: Bar; readonly y: number }) {
  const { x, width, plan } = bar;
  const isPlan = plan !== null && effectOf(plan.subscriptionStatus ?? '') === 'grants';
  const label = shortPlan(plan);
  const room = Math.floor((width - 12) / CHARACTER_WIDTH);
  return (
    <g>
      <title>{cut(label, MAX_LABEL)}</title>
      <rect
        class={isPlan ? 'plan' : 'plan none'}
        x={x}
        y={y}
        width={Math.max(1, width - 1)}
        height={BAR_HEIGHT}
        rx={3}
      />
      {room >= 3 && (
        <text class={isPlan ? 'plan-name' : 'plan-name none'} x={x + 6} y={y + 16}>
          {cut(label, Math.min(room, MAX_LABEL))}
        </text>
      )}
    </g>
  );
}

/** What the picture shows, for those who do not see it. */
function described(entries: readonly HistoryEntry[], bars: readonly Bar[]): string {
  const counts = SHOWN_OUTCOMES.map((outcome) => ({
    outcome,
    count: entries.filter(({ event }) => event.outcome === outcome).length,
  })).filter(({ count }) => count > 0);
  const events = counts.map(({ outcome, count }) => `${count} ${outcome}`).join(', ');
  const plans = bars.map(({ plan }) => cut(shortPlan(plan), MAX_LABEL)).join(', then ');
  return `${entries.length} events: ${events}. The plans: ${plans || 'none'}.`;
}

function cut(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
