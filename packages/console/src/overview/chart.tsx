import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Interruption, Slot } from 'instep/operate';
import { Table } from '../components/table.tsx';
import { TextAt, Time, TimeLabel, Zone } from '../components/text.tsx';
import { filterUrl } from '../links/event-links.tsx';
import { markText } from './marks.tsx';
import { type Range, slotsAt, ticksOf } from './range.ts';

export const CHART_HEIGHT = 100;

export type ChartProps = PropsWithChildren<{
  /** Prefix of the ids of its parts. */
  readonly id: string;
  /** For screen readers. */
  readonly title: string;
  readonly description: string;
  /** The unit of the levels. */
  readonly unit: string;
  readonly range: Range;
  readonly slots: readonly Slot[];
  readonly marks: readonly Interruption[];
  /** Labels beside the chart, top first, evenly spaced. */
  readonly levels: readonly string[];
  /** Describes a slot in words. */
  readonly textOf: (slot: Slot) => string;
  /** Shown in a chart without values. */
  readonly emptyText: string | null;
}>;

/**
 * The frame of a chart: one unit of width per slot. Labels are not part of the drawing, which is stretched to
 * the width of the page.
 */
export function Chart(props: ChartProps) {
  const { id, title, description, unit, range, slots, marks, levels, textOf, children } = props;
  const firstMs = slots[0]?.startsAtMs ?? 0;
  const xOf = (atMs: number) => slotsAt(range, firstMs, atMs);
  const ticks = ticksOf(range, firstMs);
  const stretched = {
    viewBox: `0 0 ${slots.length} ${CHART_HEIGHT}`,
    preserveAspectRatio: 'none',
  };
  return (
    <div class={`chart last-${range.name}`}>
      <p class="unit">
        {unit}; time in <Zone />
      </p>
      {marks.length > 0 && (
        <svg class="mark-labels" aria-hidden="true">
          {labelsOf(marks, (mark) => xOf(mark.atMs) / slots.length).map(({ label, share }) => (
            <TextAt share={share}>{label}</TextAt>
          ))}
        </svg>
      )}
      <div class="levels" aria-hidden="true">
        {levels.map((level) => (
          <span>{level}</span>
        ))}
      </div>
      <div class="plot">
        <svg role="img" aria-labelledby={`${id}-title ${id}-description`} {...stretched}>
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-description`}>{description}</desc>
          {levels.map((_, index) => {
            const y = (index * CHART_HEIGHT) / (levels.length - 1);
            return <path class="grid" d={`M0 ${y}H${slots.length}`} />;
          })}
          {ticks.map((atMs) => (
            <path class="grid" d={`M${xOf(atMs)} 0V${CHART_HEIGHT}`} />
          ))}
          {marks.map(({ kind, atMs, untilMs }) => {
            const [x, end] = [Math.max(0, xOf(atMs)), xOf(untilMs)];
            return <path class={kind} d={`M${x} 0H${end}V${CHART_HEIGHT}H${x}z`} />;
          })}
          {children}
        </svg>
        {props.emptyText !== null && <p class="empty">{props.emptyText}</p>}
        <svg class="slots" aria-hidden="true" {...stretched}>
          {slots.map((slot, index) => (
            // Not by keyboard: the crosshair and the figures also link to the events.
            <a href={eventsUrl(slot, range)} tabindex={-1}>
              <title>{[textOf(slot), ...explanationsOf(slot, range, marks)].join('; ')}</title>
              <path d={`M${index} 0h1v${CHART_HEIGHT}h-1z`} />
            </a>
          ))}
        </svg>
        <input
          class="crosshair"
          type="range"
          id={`${id}-crosshair`}
          aria-label={`${title}: time`}
          max={slots.length - 1}
          value={slots.length - 1}
          data-first-ms={firstMs}
          data-slot-ms={range.slotSeconds * 1_000}
        />
      </div>
      <svg class="ticks" aria-hidden="true">
        {ticks.map((atMs) => (
          <TimeLabel
            ms={atMs}
            format={range.name === 'week' ? 'weekday' : 'minute'}
            share={xOf(atMs) / slots.length}
          />
        ))}
      </svg>
      <p class="readout">
        The {range.slot} from <time class="slot" />: <span />
      </p>
    </div>
  );
}

/** The space that a label takes, as a share of the chart's width. */
const LABEL_SHARE = 0.2;

/** The labels of marks; the newest ones where there is no space for all. */
function labelsOf(marks: readonly Interruption[], shareOf: (mark: Interruption) => number) {
  const labels: { label: string; share: number }[] = [];
  for (const mark of marks.toReversed()) {
    const share = shareOf(mark);
    const label = mark.kind === 'deploy' ? (mark.version ?? '') : '';
    if (label !== '' && (labels.at(-1)?.share ?? 2) - share >= LABEL_SHARE) {
      labels.push({ label, share });
    }
  }
  return labels;
}

/** A time as it is written in addresses; slots begin at whole minutes. */
export const minuteAt = (ms: number) => new Date(ms).toISOString().slice(0, 16);

/** The events page with the events of a slot. */
function eventsUrl({ startsAtMs }: Slot, { slotSeconds }: Range): string {
  const [from, until] = [minuteAt(startsAtMs), minuteAt(startsAtMs + slotSeconds * 1_000)];
  return filterUrl('/events', { from, until });
}

function explanationsOf(
  { startsAtMs }: Slot,
  { slotSeconds }: Range,
  marks: readonly Interruption[],
) {
  const endsAtMs = startsAtMs + slotSeconds * 1_000;
  return marks
    .filter(({ atMs, untilMs }) => atMs < endsAtMs && untilMs >= startsAtMs)
    .map(markText);
}

type LegendProps = {
  /** The time that the values are of. */
  readonly range: Range;
  /** How a mark is drawn, its name, and its value. */
  readonly marks: readonly {
    readonly drawing: Child;
    readonly name: string;
    readonly value: Child;
    /** The list behind the value. */
    readonly href?: string;
  }[];
};

export function Legend({ range, marks }: LegendProps) {
  return (
    <ul class="legend">
      <li class="quiet">Last {range.name}:</li>
      {marks.map(({ drawing, name, value, href }) => (
        <li>
          <svg viewBox="0 0 16 10" aria-hidden="true">
            {drawing}
          </svg>
          {href === undefined ? (
            name
          ) : (
            <a id={`legend-${name.replaceAll(' ', '-')}`} href={href}>
              {name}
            </a>
          )}{' '}
          <span class="quiet">{value}</span>
        </li>
      ))}
    </ul>
  );
}

type FiguresProps = {
  readonly id: string;
  readonly label: string;
  readonly columns: readonly string[];
  readonly range: Range;
  readonly slots: readonly Slot[];
  readonly valuesOf: (slot: Slot) => readonly (string | number)[];
  /** The values of the whole range. */
  readonly total: readonly (string | number)[];
};

/** The numbers behind a chart, with links to the events. */
export function Figures({ id, label, columns, range, slots, valuesOf, total }: FiguresProps) {
  const rows = slots.map((slot) => [
    <a id={`${id}-${slot.startsAtMs}`} href={eventsUrl(slot, range)}>
      <Time ms={slot.startsAtMs} format="slot" />
    </a>,
    ...valuesOf(slot),
  ]);
  return (
    <details class="figures" id={`${id}-details`}>
      {/* htmx restores the focus by id. */}
      <summary id={`${id}-figures`}>In figures, per {range.slot}</summary>
      <Table
        label={label}
        columns={['From', ...columns.map((name) => ({ name, class: 'end' as const }))]}
        rows={[[`Last ${range.name}`, ...total], ...rows]}
        hasRowNames
      />
    </details>
  );
}
