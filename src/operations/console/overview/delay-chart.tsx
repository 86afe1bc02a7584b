import { DELAY_BOUNDS_SECONDS } from '../../../queries/delay-buckets.ts';
import { durationOf } from '../../../runtime/duration.ts';
import { Moment } from '../components/moment.tsx';
import { Table } from '../components/table.tsx';
import { CHART_HEIGHT, Chart, InFigures, Legend } from './chart.tsx';
import type { Range } from './range.ts';
import type { Slot } from './series.ts';

const LEAST_SECONDS = DELAY_BOUNDS_SECONDS[0] ?? 0.25;

/** The drawing ends at one of these: its middle is a round time too. */
const TOPS_SECONDS = [4, 16, 100, 900, 3_600, 14_400, 129_600, 2_073_600];

const LINES = [
  { name: 'half', percentile: 'p50', secondsOf: (slot: Slot) => slot.p50Seconds },
  { name: '99 of 100', percentile: 'p99', secondsOf: (slot: Slot) => slot.p99Seconds },
] as const;

/** How late events came, on a scale on which each line is so many times the one below. */
export function DelayChart({
  slots,
  range,
}: {
  readonly slots: readonly Slot[];
  readonly range: Range;
}) {
  const worst = Math.max(LEAST_SECONDS, ...slots.map(({ p99Seconds }) => p99Seconds ?? 0));
  const top = TOPS_SECONDS.find((seconds) => seconds >= worst) ?? worst;
  const newest = slots.findLast(({ p50Seconds }) => p50Seconds !== null);
  const saying = (seconds: number | null | undefined) =>
    seconds === null || seconds === undefined ? 'none' : `${delayText(seconds)} at most`;
  return (
    <>
      <Legend
        marks={LINES.map(({ name, percentile, secondsOf }) => ({
          drawn: <path class={`line-${percentile}`} d="M0 5H16" />,
          name: `${percentile}, ${name}:`,
          says: `now ${saying(newest && secondsOf(newest))}`,
        }))}
      />
      <Chart
        id="delay"
        title={`Delivery delay in each ${range.slot}, 50th and 99th percentile`}
        description={`The time from when Stripe made an event to when it was received. The 99th percentile was ${delayText(worst)} at most.`}
        width={slots.length}
        levels={[top, Math.sqrt(top * LEAST_SECONDS), LEAST_SECONDS].map(delayText)}
        ticks={range.ticks}
      >
        {LINES.map(({ percentile, secondsOf }) => (
          <path class={`line-${percentile}`} d={lineOf(slots.map(secondsOf), top)} />
        ))}
        {slots.map((slot, index) => (
          <path class="hover" d={`M${index} 0h1v${CHART_HEIGHT}h-1z`}>
            <title>
              {LINES.map((line) => `${line.percentile}: ${saying(line.secondsOf(slot))}`).join(
                ', ',
              )}
            </title>
          </path>
        ))}
      </Chart>
      <InFigures id="delay">
        <Table label="Delivery delay" columns={['From', 'p50', 'p99']}>
          {slots
            .filter(({ p50Seconds }) => p50Seconds !== null)
            .map((slot) => (
              <tr>
                <th scope="row">
                  <Moment at={new Date(slot.startsAtMs)} />
                </th>
                {LINES.map(({ secondsOf }) => (
                  <td>{saying(secondsOf(slot))}</td>
                ))}
              </tr>
            ))}
        </Table>
      </InFigures>
    </>
  );
}

/** From slot to slot; where nothing came the line is broken, and one slot alone is a dot. */
function lineOf(seconds: readonly (number | null)[], top: number): string {
  const heightOf = (one: number) =>
    (Math.log(one / LEAST_SECONDS) / Math.log(top / LEAST_SECONDS)) * CHART_HEIGHT;
  return seconds
    .map((one, index) => {
      if (one === null) return '';
      const isFirst = index === 0 || seconds[index - 1] === null;
      const place = `${index + 0.5} ${(CHART_HEIGHT - heightOf(one)).toFixed(2)}`;
      return isFirst ? `M${place}h0` : `L${place}`;
    })
    .join('');
}

/** `0.25 s`, `1.4 s` or `3 h` */
function delayText(seconds: number): string {
  return seconds < 10 ? `${Number(seconds.toPrecision(2))} s` : durationOf(seconds * 1_000);
}
