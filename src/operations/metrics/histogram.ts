import type { CounterOptions } from './counter.ts';
import { Labelled, type Labels } from './labelled.ts';
import type { Metric } from './snapshot.ts';

export type HistogramOptions<Label extends string> = CounterOptions<Label> & {
  /** The upper bounds of the buckets, ascending; there is one more, without a bound. */
  readonly bounds: readonly number[];
};

/** How often a value was how large, for each set of labels. */
export class Histogram<Label extends string = never> {
  readonly #options: HistogramOptions<Label>;
  readonly #distributions: Labelled<Label, Distribution>;

  constructor(options: HistogramOptions<Label>) {
    this.#options = options;
    this.#distributions = new Labelled(options.labelNames, () => new Distribution(options.bounds));
  }

  /** The one with these labels, which is shown from now on. Whoever observes often keeps it. */
  with(labels: Labels<Label>): Distribution {
    return this.#distributions.with(labels);
  }

  read(): Metric {
    const { name, help } = this.#options;
    const values = this.#distributions.flatMap((one, labels) => one.read(name, labels));
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
