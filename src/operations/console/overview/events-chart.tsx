import { Moment } from '../components/moment.tsx';
import { Table } from '../components/table.tsx';
import { CHART_HEIGHT, Chart, InFigures, Legend } from './chart.tsx';
import { countText } from './issues.ts';
import type { Range } from './range.ts';
import { OUTCOMES, type Slot, totalsOf } from './series.ts';

/** How much of its slot a bar takes. */
const BAR = 0.8;

/** How many events came, stacked by what came of them. */
export function EventsChart({
  slots,
  range,
}: {
  readonly slots: readonly Slot[];
  readonly range: Range;
}) {
  const most = roundUp(Math.max(...slots.map(countOf)));
  const totals = totalsOf(slots);
  const total = OUTCOMES.reduce((sum, outcome) => sum + totals[outcome], 0);
  const says = OUTCOMES.map((outcome) => `${countText(totals[outcome])} ${outcome}`).join(', ');
  return (
    <>
      <Legend
        marks={OUTCOMES.map((outcome) => ({
          drawn: <path class={`bar-${outcome}`} d="M0 0H16V10H0z" />,
          name: outcome,
          says: countText(totals[outcome]),
        }))}
      />
      <Chart
        id="events"
        title={`Events in each ${range.slot}, by outcome`}
        description={`${countText(total)} in all: ${says}. At most ${countText(Math.max(...slots.map(countOf)))} in one slot.`}
        width={slots.length}
        levels={[countText(most), countText(most / 2), '0']}
        ticks={range.ticks}
      >
        <Patterns />
        {OUTCOMES.map((outcome) => (
          <path class={`bar-${outcome}`} d={barsOf(slots, outcome, most)} />
        ))}
        {slots.map((slot, index) => (
          <path class="hover" d={`M${index} 0h1v${CHART_HEIGHT}h-1z`}>
            <title>{sayingOf(slot)}</title>
          </path>
        ))}
      </Chart>
      <InFigures id="events">
        <Table label="Events by outcome" columns={['From', ...OUTCOMES]}>
          {slots.filter(countOf).map(({ startsAtMs, counts }) => (
            <tr>
              <th scope="row">
                <Moment at={new Date(startsAtMs)} />
              </th>
              {OUTCOMES.map((outcome) => (
                <td>{counts[outcome]}</td>
              ))}
            </tr>
          ))}
        </Table>
      </InFigures>
    </>
  );
}

/** What asks for attention differs from the rest in more than its colour. */
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

const countOf = ({ counts }: Slot): number =>
  OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);

/** All bars of one outcome, each on top of those of the outcomes before. */
function barsOf(slots: readonly Slot[], outcome: (typeof OUTCOMES)[number], most: number): string {
  const below = OUTCOMES.slice(0, OUTCOMES.indexOf(outcome));
  const height = (count: number) => (count / most) * CHART_HEIGHT;
  return slots
    .map(({ counts }, index) => {
      if (counts[outcome] === 0) return '';
      const base = below.reduce((sum, one) => sum + counts[one], 0);
      const [x, y] = [index + (1 - BAR) / 2, CHART_HEIGHT - height(base)];
      return `M${x.toFixed(2)} ${y.toFixed(2)}h${BAR}v${-height(counts[outcome]).toFixed(2)}h${-BAR}z`;
    })
    .join('');
}

function sayingOf(slot: Slot): string {
  const parts = OUTCOMES.filter((outcome) => slot.counts[outcome] > 0).map(
    (outcome) => `${countText(slot.counts[outcome])} ${outcome}`,
  );
  const from = new Date(slot.startsAtMs).toISOString().slice(0, 16).replace('T', ' ');
  return `from ${from} UTC: ${parts.join(', ') || 'none'}`;
}

/** The next even number of the kind 2, 4, 10, 20, 40… */
function roundUp(most: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const found = [1, 2, 4, 6, 8, 10].map((step) => step * magnitude).find((step) => step >= most);
  return Math.max(2, found ?? most);
}
