import { countText, LOGGED_OUTCOMES, type LoggedOutcome, SLOT_MS, type Slot } from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { Zone } from '../components/text.tsx';
import { urlWith } from '../query-parameters.ts';

/** The time between two labels below the chart, which are at multiples of it. */
const TICK_MS = 6 * 3_600_000;

const CHART_HEIGHT = 100;

/** What needs attention. */
const PROBLEMS = ['parked', 'unreadable'] as const;

/** Makes a single event that needs attention visible among many others: about 2 pixels. */
const LEAST_PROBLEM = 1.5;

/** The number of events in each slot. */
const countsOf = (slots: readonly Slot[], outcomes: readonly LoggedOutcome[] = LOGGED_OUTCOMES) =>
  slots.map(({ counts }) => outcomes.reduce((sum, outcome) => sum + counts[outcome], 0));

const totalOf = (slots: readonly Slot[], outcomes?: readonly LoggedOutcome[]) =>
  countsOf(slots, outcomes).reduce((sum, count) => sum + count, 0);

/** The times of the labels below the chart, and where they are, in slots from its left edge. */
function ticksOf(firstMs: number, slots: number) {
  const endMs = firstMs + slots * SLOT_MS;
  const ticks = [];
  for (let atMs = Math.ceil(firstMs / TICK_MS) * TICK_MS; atMs < endMs; atMs += TICK_MS) {
    ticks.push({ at: new Date(atMs).toISOString(), x: (atMs - firstMs) / SLOT_MS });
  }
  return ticks;
}

/** The number of events per slot, and of those that need attention: one unit of width per slot. */
export function EventsChart({ slots }: { readonly slots: readonly Slot[] }) {
  const firstMs = slots[0]?.startsAtMs ?? 0;
  const counts = countsOf(slots);
  const top = roundUp(Math.max(...counts));
  const total = totalOf(slots);
  const ticks = ticksOf(firstMs, slots.length);
  // Labels are not part of the drawing, which is stretched to the width of the page.
  const stretched = {
    viewBox: `0 0 ${slots.length} ${CHART_HEIGHT}`,
    preserveAspectRatio: 'none',
  };
  return (
    <>
      <ul class="legend">
        {LOGGED_OUTCOMES.map((outcome) => (
          <li>
            <a
              id={`legend-${outcome}`}
              href={urlWith('/events', { outcome, from: minuteAt(firstMs) })}
            >
              {outcomeText(outcome)}
            </a>{' '}
            <span class="quiet">{countText(totalOf(slots, [outcome]))}</span>
          </li>
        ))}
      </ul>
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
          <svg role="img" aria-labelledby="chart-title" {...stretched}>
            <title id="chart-title">
              {`Events per 15 minutes: ${countText(total)} in total, of which
                ${countText(totalOf(slots, PROBLEMS))} need attention`}
            </title>
            {[0, 0.5, 1].map((share) => (
              <path class="grid" d={`M0 ${share * CHART_HEIGHT}H${slots.length}`} />
            ))}
            {ticks.map(({ x }) => (
              <path class="grid" d={`M${x} 0V${CHART_HEIGHT}`} />
            ))}
            <path class="bars" d={barsOf(counts, top)} />
            <path class="problems" d={barsOf(countsOf(slots, PROBLEMS), top, LEAST_PROBLEM)} />
          </svg>
          <svg class="slots" aria-hidden="true" {...stretched}>
            {slots.map((slot, index) => (
              // Not by keyboard, for which the filter of events is shorter.
              <a href={slotUrl(slot)} tabindex={-1}>
                <title>{textOf(slot)}</title>
                <path d={`M${index} 0h1v${CHART_HEIGHT}h-1z`} />
              </a>
            ))}
          </svg>
        </div>
        <svg class="ticks" aria-hidden="true">
          {ticks.map(({ at, x }) => (
            <text
              x={`${((100 * x) / slots.length).toFixed(3)}%`}
              y="1em"
              class="minute"
              data-at={at}
            >
              {at.slice(11, 16)}
            </text>
          ))}
        </svg>
      </div>
    </>
  );
}

/** A bar for each number, as wide as four fifths of its slot. */
function barsOf(numbers: readonly number[], top: number, least = 0): string {
  return numbers
    .map((number, index) => {
      if (number === 0) return '';
      const height = Math.max(least, (number / top) * CHART_HEIGHT).toFixed(2);
      return `M${index}.1 ${CHART_HEIGHT}v-${height}h0.8v${height}z`;
    })
    .join('');
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
  urlWith('/events', { from: minuteAt(startsAtMs), until: minuteAt(startsAtMs + SLOT_MS) });
