import { DELAY_BOUNDS_SECONDS, type Delays, durationText } from 'instep/operate';
import { Badge } from '../components/badges.tsx';
import { CHART_HEIGHT, Chart, type ChartProps, Figures, Legend } from './chart.tsx';

const LEAST_SECONDS = DELAY_BOUNDS_SECONDS[0] ?? 0.25;

/** The bound of the bucket with the delays of about a minute. */
const LATE_SECONDS = 64;

/** The possible ends of the scale. The value halfway up is also a round time. */
const TOPS_SECONDS = [4, 16, 100, 900, 3_600, 14_400, 129_600, 2_073_600];

const LINES = [
  { name: 'p50', secondsOf: ({ p50Seconds }: Delays) => p50Seconds },
  { name: 'p99', secondsOf: ({ p99Seconds }: Delays) => p99Seconds },
] as const;

type DelayChartProps = Pick<ChartProps, 'slots' | 'range' | 'marks'> & {
  /** Of the whole range. */
  readonly delays: Delays;
};

/** The delay from Stripe's creation of an event to its receipt, on a logarithmic scale. */
export function DelayChart({ slots, delays, range, marks }: DelayChartProps) {
  const worst = Math.max(LEAST_SECONDS, ...slots.map(({ p99Seconds }) => p99Seconds ?? 0));
  const top = TOPS_SECONDS.find((seconds) => seconds >= worst) ?? worst;
  const isLate = (delays.p99Seconds ?? 0) > LATE_SECONDS;
  const late = <Badge tone="warning">late</Badge>;
  return (
    <>
      <Legend
        range={range}
        marks={LINES.map(({ name, secondsOf }) => ({
          drawing: <path class={`line-${name}`} d="M0 5H16" />,
          name,
          value: (
            <>
              {boundText(secondsOf(delays))} {name === 'p99' && isLate && late}
            </>
          ),
        }))}
      />
      <Chart
        id="delay"
        title={`Delivery delay per ${range.slot}, 50th and 99th percentile`}
        description={`From the creation of an event at Stripe to its receipt. Last ${range.name}: ${textOf(delays)}.`}
        levels={[top, Math.sqrt(top * LEAST_SECONDS), LEAST_SECONDS].map(delayText)}
        unit={`Delay of 50% (p50) and 99% (p99) of the events, log scale; late beyond ${delayText(LATE_SECONDS)}`}
        emptyText={delays.p50Seconds === null ? `No delays in the last ${range.name}` : null}
        textOf={textOf}
        {...{ range, slots, marks }}
      >
        <path class="late" d={`M0 0H999V${Math.max(0, yOf(LATE_SECONDS, top))}H0z`} />
        {LINES.map(({ name, secondsOf }) => (
          <path class={`line-${name}`} d={lineOf(slots.map(secondsOf), top)} />
        ))}
      </Chart>
      <Figures
        id="delay"
        label="Delivery delay in figures"
        columns={LINES.map(({ name }) => name)}
        range={range}
        slots={slots.filter(({ p50Seconds }) => p50Seconds !== null)}
        valuesOf={boundTexts}
        total={boundTexts(delays)}
      />
    </>
  );
}

const boundTexts = (delays: Delays) => LINES.map(({ secondsOf }) => boundText(secondsOf(delays)));

function textOf(delays: Delays): string {
  if (delays.p50Seconds === null) return 'no events';
  return LINES.map(({ name, secondsOf }) => `${name} ${boundText(secondsOf(delays))}`).join(', ');
}

function yOf(seconds: number, top: number): number {
  return CHART_HEIGHT * (1 - Math.log(seconds / LEAST_SECONDS) / Math.log(top / LEAST_SECONDS));
}

/** A line that is broken where there are no events; a single slot is a dot. */
function lineOf(delays: readonly (number | null)[], top: number): string {
  return delays
    .map((seconds, index) => {
      if (seconds === null) return '';
      const isFirst = index === 0 || delays[index - 1] === null;
      const point = `${index + 0.5} ${yOf(seconds, top).toFixed(2)}`;
      return isFirst ? `M${point}h0` : `L${point}`;
    })
    .join('');
}

function boundText(seconds: number | null): string {
  return seconds === null ? 'no events' : `≤ ${delayText(seconds)}`;
}

/** `0.25 s`, `1.4 s` or `3 h` */
function delayText(seconds: number): string {
  return seconds < 10 ? `${Number(seconds.toPrecision(2))} s` : durationText(seconds * 1_000);
}
