import type { Metric } from './snapshot.ts';

export type HistogramOptions<Label extends string> = {
  readonly name: string;
  /** A sentence for whoever reads the figures. */
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** The upper bounds of the buckets, ascending; there is one more, without a bound. */
  readonly bounds: readonly number[];
};

/**
 * How often a value was how large, for each set of labels. prom-client's own looks its labels up and
 * checks them with each observation, in 0.6 µs: two of a hundred parts of all that a profile takes.
 */
export class Histogram<Label extends string = never> {
  readonly #options: HistogramOptions<Label>;
  readonly #series = new Map<string, { labels: Record<Label, string>; values: Distribution }>();

  constructor(options: HistogramOptions<Label>) {
    this.#options = options;
  }

  /** The one with these labels. Whoever observes often keeps it. */
  with(labels: Record<Label, string>): Distribution {
    const key = this.#options.labelNames.map((name) => labels[name]).join('\n');
    const known = this.#series.get(key);
    if (known !== undefined) return known.values;
    const values = new Distribution(this.#options.bounds);
    this.#series.set(key, { labels, values });
    return values;
  }

  read(): Metric {
    const { name, help } = this.#options;
    const series = [...this.#series.values()];
    const values = series.flatMap(({ labels, values }) => values.read(name, labels));
    return { name, help, type: 'histogram', values };
  }
}

/** How often a value was how large. */
export class Distribution {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let index = 0;
    while (value > (this.#bounds[index] ?? Number.POSITIVE_INFINITY)) index += 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** Each bucket counts what the smaller ones have counted, too. */
  read(name: string, labels: Readonly<Record<string, string>>): Metric['values'] {
    let count = 0;
    const buckets = this.#counts.map((one, index) => {
      count += one;
      const le = String(this.#bounds[index] ?? '+Inf');
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    const sum = { metricName: `${name}_sum`, labels, value: this.#sum };
    return [...buckets, sum, { metricName: `${name}_count`, labels, value: count }];
  }
}
