import type { Child } from 'hono/jsx';

export type ChartProps = {
  /** Of the chart, for what refers to its parts. */
  readonly id: string;
  /** What is drawn, for those who do not see it. */
  readonly title: string;
  readonly description: string;
  /** How many units the drawing is wide; it is `CHART_HEIGHT` high, and stretched to its place. */
  readonly width: number;
  /** From the top down, at even distances. */
  readonly levels: readonly string[];
  /** From left to right, at even distances. */
  readonly ticks: readonly string[];
  readonly children: Child;
};

export const CHART_HEIGHT = 100;

/**
 * The frame of a drawing. What is written around it is no part of it: a drawing is stretched to the
 * width of the page, and letters must not be.
 */
export function Chart({ id, title, description, width, levels, ticks, children }: ChartProps) {
  return (
    <div class="chart">
      <div class="levels" aria-hidden="true">
        {levels.map((level) => (
          <span>{level}</span>
        ))}
      </div>
      <svg
        role="img"
        aria-labelledby={`${id}-drawn ${id}-described`}
        viewBox={`0 0 ${width} ${CHART_HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id={`${id}-drawn`}>{title}</title>
        <desc id={`${id}-described`}>{description}</desc>
        {levels.map((_, index) => {
          const y = (index * CHART_HEIGHT) / (levels.length - 1);
          return <path class="grid" d={`M0 ${y}H${width}`} />;
        })}
        {children}
      </svg>
      <div class="ticks" aria-hidden="true">
        {ticks.map((tick) => (
          <span>{tick}</span>
        ))}
      </div>
    </div>
  );
}

/** What a mark of a chart means: how it is drawn, its name, and how much of it there is. */
export function Legend({
  marks,
}: {
  readonly marks: readonly {
    readonly drawn: Child;
    readonly name: string;
    readonly says: string;
  }[];
}) {
  return (
    <ul class="legend">
      {marks.map(({ drawn, name, says }) => (
        <li>
          <svg viewBox="0 0 16 10" aria-hidden="true">
            {drawn}
          </svg>
          {name} <span class="quiet">{says}</span>
        </li>
      ))}
    </ul>
  );
}

/** What is drawn, in figures. Nothing is renewed while it is open. */
export function InFigures({ id, children }: { readonly id: string; readonly children: Child }) {
  return (
    <details class="figures">
      {/* By its id it keeps the focus when the chart is renewed. */}
      <summary id={`${id}-figures`}>In figures</summary>
      {children}
    </details>
  );
}
