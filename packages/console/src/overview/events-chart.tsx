import { LOGGED_OUTCOMES, type LoggedOutcome } from 'instep/operate';
import { countText } from '../components/amounts.ts';
import { filterUrl } from '../links/event-links.tsx';
import { CHART_HEIGHT, Chart, type ChartProps, Figures, Legend, minuteAt } from './chart.tsx';
import { countOf, type Slot, totalsOf } from './series.ts';

/** The share of its slot that a bar covers. */
const BAR = 0.8;

/** Makes a single event that needs attention visible among many others: about 2 pixels. */
const LEAST_HEIGHTS: Partial<Record<LoggedOutcome, number>> = { parked: 1.5, unreadable: 1.5 };

type EventsChartProps = Pick<ChartProps, 'slots' | 'range' | 'marks'>;

/** The number of events per slot, stacked by outcome. */
export function EventsChart({ slots, range, marks }: EventsChartProps) {
  const counts = totalsOf(slots);
  const most = Math.max(...slots.map(countOf));
  const top = roundUp(most);
  const total = countOf({ counts });
  const from = minuteAt(slots[0]?.startsAtMs ?? 0);
  const perOutcome = LOGGED_OUTCOMES.map((outcome) => `${countText(counts[outcome])} ${outcome}`);
  return (
    <>
      <Legend
        range={range}
        marks={LOGGED_OUTCOMES.map((outcome) => ({
          drawing: <path class={`bar-${outcome}`} d="M0 0H16V10H0z" />,
          name: outcome,
          value: countText(counts[outcome]),
          href: filterUrl('/events', { outcome, from }),
        }))}
      />
      <Chart
        id="events"
        title={`Events per ${range.slot}, by outcome`}
        description={`${countText(total)} in total: ${perOutcome.join(', ')}. At most ${countText(most)} per ${range.slot}.`}
        levels={[countText(top), countText(top / 2), '0']}
        unit={`Events per ${range.slot}`}
        textOf={textOf}
        emptyText={total === 0 ? `No events in the last ${range.name}` : null}
        {...{ range, slots, marks }}
      >
        <Patterns />
        {LOGGED_OUTCOMES.map((outcome) => (
          <path class={`bar-${outcome}`} d={barsOf(slots, outcome, top)} />
        ))}
      </Chart>
      <Figures
        id="events"
        label="Events in figures"
        columns={LOGGED_OUTCOMES}
        range={range}
        slots={slots.filter(countOf)}
        valuesOf={(slot) => LOGGED_OUTCOMES.map((outcome) => slot.counts[outcome])}
        total={LOGGED_OUTCOMES.map((outcome) => counts[outcome])}
      />
    </>
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

/** The bars of one outcome, each on top of those of the outcomes before it. */
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
    (outcome) => `${countText(counts[outcome])} ${outcome}`,
  );
  return parts.join(', ') || 'no events';
}

/** The next number of the series 2, 4, 6, 8, 10, 20, 40… */
function roundUp(most: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const found = [1, 2, 4, 6, 8, 10].map((step) => step * magnitude).find((step) => step >= most);
  return Math.max(2, found ?? most);
}
