import { countText, LOGGED_OUTCOMES, type LoggedOutcome, type Slot } from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { Table } from '../components/table.tsx';
import { Time, TimeLabel, Zone } from '../components/text.tsx';
import { filterUrl } from '../links/event-links.tsx';
import { type Range, slotsAt, ticksOf } from './range.ts';

const CHART_HEIGHT = 100;

/** The share of its slot that a bar covers. */
const BAR = 0.8;

/** Makes a single event that needs attention visible among many others: about 2 pixels. */
const LEAST_HEIGHTS: Partial<Readonly<Record<LoggedOutcome, number>>> = {
  parked: 1.5,
  unreadable: 1.5,
};

type EventsChartProps = { readonly range: Range; readonly slots: readonly Slot[] };

const sumOf = ({ counts }: Slot) =>
  LOGGED_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);

const totalsOf = (slots: readonly Slot[]) =>
  LOGGED_OUTCOMES.map((outcome) => ({
    outcome,
    name: outcomeText(outcome),
    count: slots.reduce((sum, { counts }) => sum + counts[outcome], 0),
  }));

/** The number of events per slot, stacked by outcome: one unit of width per slot. */
export function EventsChart({ slots, range }: EventsChartProps) {
  const most = Math.max(...slots.map(sumOf));
  const top = roundUp(most);
  const total = slots.reduce((sum, slot) => sum + sumOf(slot), 0);
  const perOutcome = totalsOf(slots).map(({ name, count }) => `${countText(count)} ${name}`);
  const firstMs = slots[0]?.startsAtMs ?? 0;
  const ticks = ticksOf(range, firstMs).map((atMs) => ({ atMs, x: slotsAt(range, firstMs, atMs) }));
  // Labels are not part of the drawing, which is stretched to the width of the page.
  const stretched = {
    viewBox: `0 0 ${slots.length} ${CHART_HEIGHT}`,
    preserveAspectRatio: 'none',
  };
  return (
    <>
      <Legend {...{ slots, range }} />
      <div class="chart">
        <p class="unit">
          Events per {range.slot}; time in <Zone />
        </p>
        <div class="levels" aria-hidden="true">
          {[countText(top), countText(top / 2), '0'].map((level) => (
            <span>{level}</span>
          ))}
        </div>
        <div class="plot">
          <svg role="img" aria-labelledby="chart-title chart-description" {...stretched}>
            <title id="chart-title">Events per {range.slot}, by outcome</title>
            <desc id="chart-description">
              {countText(total)} in total: {perOutcome.join(', ')}. At most {countText(most)} per{' '}
              {range.slot}.
            </desc>
            {[0, 0.5, 1].map((share) => (
              <path class="grid" d={`M0 ${share * CHART_HEIGHT}H${slots.length}`} />
            ))}
            {ticks.map(({ x }) => (
              <path class="grid" d={`M${x} 0V${CHART_HEIGHT}`} />
            ))}
            <Patterns />
            {LOGGED_OUTCOMES.map((outcome) => (
              <path class={`bar-${outcome}`} d={barsOf(slots, outcome, top)} />
            ))}
          </svg>
          {total === 0 && <p class="empty">No events in the last {range.name}</p>}
          <svg class="slots" aria-hidden="true" {...stretched}>
            {slots.map((slot, index) => (
              // Not by keyboard: the figures also link to the events.
              <a href={eventsUrl(slot, range)} tabindex={-1}>
                <title>{textOf(slot)}</title>
                <path d={`M${index} 0h1v${CHART_HEIGHT}h-1z`} />
              </a>
            ))}
          </svg>
        </div>
        <svg class="ticks" aria-hidden="true">
          {ticks.map(({ atMs, x }) => (
            <TimeLabel
              ms={atMs}
              format={range.name === 'week' ? 'weekday' : 'minute'}
              share={x / slots.length}
            />
          ))}
        </svg>
      </div>
      <Figures {...{ slots, range }} />
    </>
  );
}

function Legend({ slots, range }: EventsChartProps) {
  const from = minuteAt(slots[0]?.startsAtMs ?? 0);
  return (
    <ul class="legend">
      <li class="quiet">Last {range.name}:</li>
      {totalsOf(slots).map(({ outcome, name, count }) => (
        <li>
          <svg viewBox="0 0 16 10" aria-hidden="true">
            <path class={`bar-${outcome}`} d="M0 0H16V10H0z" />
          </svg>
          <a id={`legend-${outcome}`} href={filterUrl('/events', { outcome, from })}>
            {name}
          </a>{' '}
          <span class="quiet">{countText(count)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The numbers behind the chart, with links to the events. */
function Figures({ slots, range }: EventsChartProps) {
  const totals = totalsOf(slots);
  const rows = slots.filter(sumOf).map((slot) => [
    <a id={`events-${slot.startsAtMs}`} href={eventsUrl(slot, range)}>
      <Time ms={slot.startsAtMs} format="slot" />
    </a>,
    ...LOGGED_OUTCOMES.map((outcome) => slot.counts[outcome]),
  ]);
  return (
    <details class="figures" id="figures-details">
      {/* htmx restores the focus by id. */}
      <summary id="figures">In figures, per {range.slot}</summary>
      <Table
        label="Events in figures"
        columns={['From', ...totals.map(({ name }) => ({ name, class: 'end' as const }))]}
        rows={[[`Last ${range.name}`, ...totals.map(({ count }) => count)], ...rows]}
      />
    </details>
  );
}

/** Outcomes that need attention differ in more than color. */
function Patterns() {
  return (
    <defs>
      <pattern id="sparse" class="sparse" width="1" height="6" patternUnits="userSpaceOnUse">
        <path d="M0 0H1V3H0z" />
      </pattern>
      <pattern id="dense" class="dense" width="1" height="3" patternUnits="userSpaceOnUse">
        <path d="M0 0H1V2H0z" />
      </pattern>
    </defs>
  );
}

/** The bars of an outcome, each on top of those of the outcomes before it. */
function barsOf(slots: readonly Slot[], outcome: LoggedOutcome, top: number): string {
  const below = LOGGED_OUTCOMES.slice(0, LOGGED_OUTCOMES.indexOf(outcome));
  return slots
    .map(({ counts }, index) => {
      if (counts[outcome] === 0) return '';
      const heightOf = (one: LoggedOutcome) => heightFor(counts[one], top, LEAST_HEIGHTS[one]);
      const height = heightOf(outcome);
      const base = below.reduce((sum, one) => sum + heightOf(one), 0);
      const [x, y] = [index + (1 - BAR) / 2, Math.max(height, CHART_HEIGHT - base)];
      return `M${x.toFixed(2)} ${y.toFixed(2)}h${BAR}v${-height.toFixed(2)}h${-BAR}z`;
    })
    .join('');
}

function heightFor(count: number, top: number, least = 0): number {
  return count === 0 ? 0 : Math.max(least, (count / top) * CHART_HEIGHT);
}

function textOf({ counts }: Slot): string {
  const parts = LOGGED_OUTCOMES.filter((outcome) => counts[outcome] > 0).map(
    (outcome) => `${countText(counts[outcome])} ${outcomeText(outcome)}`,
  );
  return parts.join(', ') || 'no events';
}

/** The next number of the series 2, 4, 6, 8, 10, 20, 40… */
function roundUp(most: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const found = [1, 2, 4, 6, 8, 10].map((step) => step * magnitude).find((step) => step >= most);
  return Math.max(2, found ?? most);
}

/** A time as it is written in addresses; slots begin at whole minutes. */
const minuteAt = (ms: number) => new Date(ms).toISOString().slice(0, 16);

/** The events page with the events of a slot. */
function eventsUrl({ startsAtMs }: Slot, { slotSeconds }: Range): string {
  const [from, until] = [minuteAt(startsAtMs), minuteAt(startsAtMs + slotSeconds * 1_000)];
  return filterUrl('/events', { from, until });
}
