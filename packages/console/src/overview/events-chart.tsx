import {
  counted,
  countText,
  LOGGED_OUTCOMES,
  type LoggedOutcome,
  RESPONSE_CLASSES,
  type ResponsesRow,
  type Slot,
} from 'instep/operate';
import { outcomeText } from '../components/badges.tsx';
import { capitalized } from '../components/text.tsx';
import { filterUrl } from '../links/event-links.tsx';
import { CHART_HEIGHT, Chart, type ChartProps, Figures, Legend, minuteAt } from './chart.tsx';

/** The share of its slot that a bar covers. */
const BAR = 0.8;

/** Makes a single event that needs attention visible among many others: about 2 pixels. */
const LEAST_HEIGHTS: Readonly<Record<string, number>> = {
  ...{ parked: 1.5, unreadable: 1.5 },
  ...{ '4xx': 1.5, '5xx': 1.5 },
};

/** What is counted in each slot, by name. The name is part of the bars' class. */
type Series = {
  readonly id: string;
  /** In the plural. */
  readonly noun: string;
  readonly by: string;
  readonly names: readonly string[];
  readonly countOf: (slot: Slot, name: string) => number;
  /** The list behind a value of the legend. */
  readonly hrefOf?: (name: string, from: string) => string;
};

type BarsProps = Pick<ChartProps, 'slots' | 'range' | 'marks'>;

/** The number of events per slot, stacked by outcome. */
export function EventsChart(props: BarsProps) {
  const isOutcome = (name: string): name is LoggedOutcome => name in (props.slots[0]?.counts ?? {});
  return (
    <BarChart
      {...props}
      id="events"
      noun="events"
      by="outcome"
      names={LOGGED_OUTCOMES}
      countOf={({ counts }, name) => (isOutcome(name) ? counts[name] : 0)}
      hrefOf={(outcome, from) => filterUrl('/events', { outcome, from })}
    />
  );
}

/** The number of responses to deliveries per slot, stacked by status, and why deliveries were refused. */
export function ResponsesChart({
  responses,
  ...props
}: BarsProps & { readonly responses: readonly ResponsesRow[] }) {
  return (
    <>
      <BarChart
        {...props}
        id="responses"
        noun="responses"
        by="status"
        names={RESPONSE_CLASSES}
        countOf={({ responses }, name) => responses.get(name) ?? 0}
      />
      <Refusals responses={responses} />
    </>
  );
}

/** Why deliveries were refused. */
function Refusals({ responses }: { readonly responses: readonly ResponsesRow[] }) {
  const reasons = new Map<string, number>();
  for (const { status, code, count } of responses) {
    if (code === '') continue;
    const reason = `${status}: ${REASONS[code] ?? code}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  if (reasons.size === 0) return null;
  return (
    <ul class="marks">
      {[...reasons].map(([reason, count]) => (
        <li>
          {counted(count, 'response')} {reason}
        </li>
      ))}
    </ul>
  );
}

/** What is wrong with a signature. Other reasons have the code of an error (docs/errors.md). */
const REASONS: Readonly<Record<string, string>> = {
  'signature-missing': 'no signature of Stripe',
  'signature-wrong': 'signature of another secret',
  'signature-old': 'signature older than 5 minutes',
  'signature-not-utf-8': 'body is not UTF-8',
};

function BarChart({ slots, range, marks, ...series }: BarsProps & Series) {
  const { id, noun, by, names, countOf, hrefOf } = series;
  const sumOf = (slot: Slot) => names.reduce((sum, name) => sum + countOf(slot, name), 0);
  const totalOf = (name: string) => slots.reduce((sum, slot) => sum + countOf(slot, name), 0);
  const most = Math.max(...slots.map(sumOf));
  const top = roundUp(most);
  const total = slots.reduce((sum, slot) => sum + sumOf(slot), 0);
  const from = minuteAt(slots[0]?.startsAtMs ?? 0);
  const perName = names.map((name) => `${countText(totalOf(name))} ${outcomeText(name)}`);
  const Noun = capitalized(noun);
  return (
    <>
      <Legend
        range={range}
        marks={names.map((name) => ({
          drawing: <path class={`bar-${name}`} d="M0 0H16V10H0z" />,
          name: outcomeText(name),
          value: countText(totalOf(name)),
          ...(hrefOf && { href: hrefOf(name, from) }),
        }))}
      />
      <Chart
        id={id}
        title={`${Noun} per ${range.slot}, by ${by}`}
        description={`${countText(total)} in total: ${perName.join(', ')}. At most ${countText(most)} per ${range.slot}.`}
        levels={[countText(top), countText(top / 2), '0']}
        unit={`${Noun} per ${range.slot}`}
        textOf={(slot) => textOf(slot, series)}
        emptyText={total === 0 ? `No ${noun} in the last ${range.name}` : null}
        {...{ range, slots, marks }}
      >
        <Patterns id={id} />
        {names.map((name) => (
          <path class={`bar-${name}`} d={barsOf(slots, name, top, series)} />
        ))}
      </Chart>
      <Figures
        id={id}
        label={`${Noun} in figures`}
        columns={names.map(outcomeText)}
        range={range}
        slots={slots.filter(sumOf)}
        valuesOf={(slot) => names.map((name) => countOf(slot, name))}
        total={names.map(totalOf)}
      />
    </>
  );
}

/** Outcomes that need attention differ in more than color. */
function Patterns({ id }: Pick<Series, 'id'>) {
  return (
    <defs>
      <pattern
        id={`${id}-sparse`}
        class="sparse"
        width="1"
        height="6"
        patternUnits="userSpaceOnUse"
      >
        <path d="M0 0H1V3H0z" />
      </pattern>
      <pattern id={`${id}-dense`} class="dense" width="1" height="3" patternUnits="userSpaceOnUse">
        <path d="M0 0H1V2H0z" />
      </pattern>
    </defs>
  );
}

/** The bars of one name, each on top of those of the names before it. */
function barsOf(
  slots: readonly Slot[],
  name: string,
  top: number,
  { names, countOf }: Pick<Series, 'names' | 'countOf'>,
): string {
  const below = names.slice(0, names.indexOf(name));
  return slots
    .map((slot, index) => {
      if (countOf(slot, name) === 0) return '';
      const heightOf = (one: string) => heightFor(countOf(slot, one), top, LEAST_HEIGHTS[one]);
      const height = heightOf(name);
      const base = below.reduce((sum, one) => sum + heightOf(one), 0);
      const [x, y] = [index + (1 - BAR) / 2, Math.max(height, CHART_HEIGHT - base)];
      return `M${x.toFixed(2)} ${y.toFixed(2)}h${BAR}v${-height.toFixed(2)}h${-BAR}z`;
    })
    .join('');
}

function heightFor(count: number, top: number, least = 0): number {
  return count === 0 ? 0 : Math.max(least, (count / top) * CHART_HEIGHT);
}

function textOf(slot: Slot, { names, countOf, noun }: Series): string {
  const parts = names
    .filter((name) => countOf(slot, name) > 0)
    .map((name) => `${countText(countOf(slot, name))} ${outcomeText(name)}`);
  return parts.join(', ') || `no ${noun}`;
}

/** The next number of the series 2, 4, 6, 8, 10, 20, 40… */
function roundUp(most: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const found = [1, 2, 4, 6, 8, 10].map((step) => step * magnitude).find((step) => step >= most);
  return Math.max(2, found ?? most);
}
