import { countText, LOGGED_OUTCOMES, type LoggedOutcome, type Slot } from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { Table } from '../components/table.tsx';
import { Time, TimeLabel, Zone } from '../components/text.tsx';
import { eventsUrl } from '../links/event-links.tsx';

/** The last day, in slots of 15 minutes. */
export const SLOTS = { slotSeconds: 900, slots: 96 };
const SLOT_MS = SLOTS.slotSeconds * 1_000;

/** The time between two labels below the chart, which are at multiples of it. */
const TICK_MS = 6 * 3_600_000;

const CHART_HEIGHT = 100;

/** The share of its slot that a bar covers. */
const BAR = 0.8;

/** Makes a single event that needs attention visible among many others: about 2 pixels. */
const LEAST_HEIGHTS: Partial<Readonly<Record<LoggedOutcome, number>>> = {
  parked: 1.5,
  unreadable: 1.5,
};

type SlotsProps = { readonly slots: readonly Slot[] };

const sumOf = ({ counts }: Slot) =>
  LOGGED_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);

const totalsOf = (slots: readonly Slot[]) =>
  LOGGED_OUTCOMES.map((outcome) => ({
    outcome,
    name: outcomeText(outcome),
    count: slots.reduce((sum, { counts }) => sum + counts[outcome], 0),
  }));

/** The times of the labels below the chart, and where they are, in slots from its left edge. */
function ticksOf(firstMs: number) {
  const endMs = firstMs + SLOTS.slots * SLOT_MS;
  const ticks = [];
  for (let atMs = Math.ceil(firstMs / TICK_MS) * TICK_MS; atMs < endMs; atMs += TICK_MS) {
    ticks.push({ atMs, x: (atMs - firstMs) / SLOT_MS });
  }
  return ticks;
}

/** The number of events per slot, stacked by outcome: one unit of width per slot. */
export function EventsChart({ slots }: SlotsProps) {
  const most = Math.max(...slots.map(sumOf));
  const top = roundUp(most);
  const total = slots.reduce((sum, slot) => sum + sumOf(slot), 0);
  const perOutcome = totalsOf(slots).map(({ name, count }) => `${countText(count)} ${name}`);
  const ticks = ticksOf(slots[0]?.startsAtMs ?? 0);
  // Labels are not part of the drawing, which is stretched to the width of the page.
  const stretched = {
    viewBox: `0 0 ${slots.length} ${CHART_HEIGHT}`,
    preserveAspectRatio: 'none',
  };
  return (
    <>
      <Legend slots={slots} />
      <div class="chart">
        <p>
          {total === 0 ? 'No events in the last day' : 'Events per 15 minutes'}; time in <Zone />
        </p>
        <div class="levels" aria-hidden="true">
          {[countText(top), countText(top / 2), '0'].map((level) => (
            <span>{level}</span>
          ))}
        </div>
        <div class="plot">
          <svg role="img" aria-labelledby="chart-title chart-description" {...stretched}>
            <title id="chart-title">Events per 15 minutes, by outcome</title>
            <desc id="chart-description">
              {countText(total)} in total: {perOutcome.join(', ')}. At most {countText(most)} per 15
              minutes.
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
          <svg class="slots" aria-hidden="true" {...stretched}>
            {slots.map((slot, index) => (
              // Not by keyboard: the figures also link to the events.
              <a href={slotUrl(slot)} tabindex={-1}>
                <title>{textOf(slot)}</title>
                <path d={`M${index} 0h1v${CHART_HEIGHT}h-1z`} />
              </a>
            ))}
          </svg>
        </div>
        <svg class="ticks" aria-hidden="true">
          {ticks.map(({ atMs, x }) => (
            <TimeLabel ms={atMs} format="minute" share={x / slots.length} />
          ))}
        </svg>
      </div>
      <Figures slots={slots} />
    </>
  );
}

function Legend({ slots }: SlotsProps) {
  const from = minuteAt(slots[0]?.startsAtMs ?? 0);
  return (
    <ul class="legend">
      {totalsOf(slots).map(({ outcome, name, count }) => (
        <li>
          <svg viewBox="0 0 16 10" aria-hidden="true">
            <path class={`bar-${outcome}`} d="M0 0H16V10H0z" />
          </svg>
          <a id={`legend-${outcome}`} href={eventsUrl({ outcome, from })}>
            {name}
          </a>{' '}
          <span class="quiet">{countText(count)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The numbers behind the chart, with links to the events. */
function Figures({ slots }: SlotsProps) {
  const rows = slots.filter(sumOf).map((slot) => [
    <a id={`events-${slot.startsAtMs}`} href={slotUrl(slot)}>
      <Time ms={slot.startsAtMs} format="slot" />
    </a>,
    ...LOGGED_OUTCOMES.map((outcome) => slot.counts[outcome]),
  ]);
  const outcomes = LOGGED_OUTCOMES.map((outcome) => ({
    name: outcomeText(outcome),
    class: 'end' as const,
  }));
  return (
    <details id="figures-details">
      {/* htmx restores the focus by id. */}
      <summary id="figures">In figures</summary>
      <Table label="Events in figures" columns={['From', ...outcomes]} rows={rows} />
    </details>
  );
}

/** Outcomes that need attention differ in more than color. */
function Patterns() {
  return (
    <defs>
      <pattern id="sparse" width="1" height="6" patternUnits="userSpaceOnUse">
        <path d="M0 0H1V3H0z" />
      </pattern>
      <pattern id="dense" width="1" height="3" patternUnits="userSpaceOnUse">
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
const slotUrl = ({ startsAtMs }: Slot) =>
  eventsUrl({ from: minuteAt(startsAtMs), until: minuteAt(startsAtMs + SLOT_MS) });
