import type { PropsWithChildren } from 'hono/jsx';
import type { Slot } from 'instep/operate';
import { TimeLabel, Zone } from '../components/text.tsx';
import { filterUrl } from '../links/event-links.tsx';
import { type Range, slotsAt, ticksOf } from './range.ts';

export const CHART_HEIGHT = 100;

type ChartProps = PropsWithChildren<{
  /** For screen readers. */
  readonly title: string;
  readonly description: string;
  /** The unit of the levels. */
  readonly unit: string;
  readonly range: Range;
  readonly slots: readonly Slot[];
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
  const { title, description, unit, range, slots, levels, textOf, emptyText, children } = props;
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
      <div class="levels" aria-hidden="true">
        {levels.map((level) => (
          <span>{level}</span>
        ))}
      </div>
      <div class="plot">
        <svg role="img" aria-labelledby="chart-title chart-description" {...stretched}>
          <title id="chart-title">{title}</title>
          <desc id="chart-description">{description}</desc>
          {levels.map((_, index) => {
            const y = (index * CHART_HEIGHT) / (levels.length - 1);
            return <path class="grid" d={`M0 ${y}H${slots.length}`} />;
          })}
          {ticks.map((atMs) => (
            <path class="grid" d={`M${xOf(atMs)} 0V${CHART_HEIGHT}`} />
          ))}
          {children}
        </svg>
        {emptyText !== null && <p class="empty">{emptyText}</p>}
        <svg class="slots" aria-hidden="true" {...stretched}>
          {slots.map((slot, index) => (
            // Not by keyboard: the crosshair and the figures also link to the events.
            <a href={eventsUrl(slot, range)} tabindex={-1}>
              <title>{textOf(slot)}</title>
              <path d={`M${index} 0h1v${CHART_HEIGHT}h-1z`} />
            </a>
          ))}
        </svg>
        <input
          class="crosshair"
          type="range"
          id="crosshair"
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

/** A time as it is written in addresses; slots begin at whole minutes. */
export const minuteAt = (ms: number) => new Date(ms).toISOString().slice(0, 16);

/** The events page with the events of a slot. */
export function eventsUrl({ startsAtMs }: Slot, { slotSeconds }: Range): string {
  const [from, until] = [minuteAt(startsAtMs), minuteAt(startsAtMs + slotSeconds * 1_000)];
  return filterUrl('/events', { from, until });
}
