import type { Child, PropsWithChildren } from 'hono/jsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import type { Range, Slot } from './series.ts';

export const CHART_HEIGHT = 100;

export type ChartProps = PropsWithChildren<{
  /** Prefix of the ids of its parts. */
  readonly id: string;
  /** For screen readers. */
  readonly title: string;
  readonly description: string;
  readonly range: Range;
  readonly slots: readonly Slot[];
  /** Labels beside the chart, top first, evenly spaced. */
  readonly levels: readonly string[];
  /** What a slot shows, in words, when the pointer is over it. */
  readonly tooltipOf: (slot: Slot) => string;
}>;

/**
 * The frame of a chart: one unit of width per slot. The labels are not part of the drawing, which is
 * stretched to the width of the page.
 */
export function Chart(props: ChartProps) {
  const { id, title, description, range, slots, levels, tooltipOf, children } = props;
  return (
    <div class="chart">
      <Labels class="levels" labels={levels} />
      <svg
        role="img"
        aria-labelledby={`${id}-title ${id}-description`}
        viewBox={`0 0 ${slots.length} ${CHART_HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id={`${id}-title`}>{title}</title>
        <desc id={`${id}-description`}>{description}</desc>
        {levels.map((_, index) => {
          const y = (index * CHART_HEIGHT) / (levels.length - 1);
          return <path class="grid" d={`M0 ${y}H${slots.length}`} />;
        })}
        {children}
        {slots.map((slot, index) => (
          <path class="hover" d={`M${index} 0h1v${CHART_HEIGHT}h-1z`}>
            <title>{tooltipOf(slot)}</title>
          </path>
        ))}
      </svg>
      <Labels class="ticks" labels={range.ticks} />
    </div>
  );
}

function Labels({
  labels,
  ...rest
}: {
  readonly class: string;
  readonly labels: readonly string[];
}) {
  return (
    <div {...rest} aria-hidden="true">
      {labels.map((label) => (
        <span>{label}</span>
      ))}
    </div>
  );
}

export type LegendProps = {
  /** How a mark is drawn, its name, and its value. */
  readonly marks: readonly {
    readonly drawing: Child;
    readonly name: string;
    readonly value: string;
  }[];
};

export function Legend({ marks }: LegendProps) {
  return (
    <ul class="legend">
      {marks.map(({ drawing, name, value }) => (
        <li>
          <svg viewBox="0 0 16 10" aria-hidden="true">
            {drawing}
          </svg>
          {name} <span class="quiet">{value}</span>
        </li>
      ))}
    </ul>
  );
}

export type FiguresProps = {
  readonly id: string;
  readonly label: string;
  readonly columns: readonly string[];
  readonly slots: readonly Slot[];
  readonly valuesOf: (slot: Slot) => readonly (string | number)[];
};

/** The numbers behind a chart. */
export function Figures({ id, label, columns, slots, valuesOf }: FiguresProps) {
  return (
    <details class="figures" id={`${id}-details`}>
      {/* htmx restores the focus by id. */}
      <summary id={`${id}-figures`}>Figures</summary>
      <Table
        label={label}
        columns={['From', ...columns]}
        rows={slots.map((slot) => [<Time ms={slot.startsAtMs} />, ...valuesOf(slot)])}
        hasRowNames
      />
    </details>
  );
}
