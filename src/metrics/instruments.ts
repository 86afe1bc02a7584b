import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { Histogram, type HistogramOptions } from './histogram.ts';
import { type Metric, type Snapshot, snapshotShape } from './snapshot.ts';

type CounterOptions<Label extends string> = {
  readonly name: string;
  /** A sentence for whoever reads the figures. */
  readonly help: string;
  readonly labelNames: readonly Label[];
};

type GaugeOptions = Pick<Metric, 'name' | 'help'>;

/** What a gauge shows, of each set of labels; nothing of what is not known. */
export type Readings = Metric['values'];

/** Makes what is counted with, and knows all of it. */
export class Instruments {
  /** prom-client's counters, and what it tells of the process. */
  readonly #registry = new Registry();
  readonly #histograms: Pick<Histogram, 'read'>[] = [];
  readonly #gauges: (() => Promise<Metric>)[] = [];

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  counter<Label extends string>(options: CounterOptions<Label>): Counter<Label> {
    return new Counter({ ...options, registers: [this.#registry] });
  }

  histogram<Label extends string>(options: HistogramOptions<Label>): Histogram<Label> {
    const histogram = new Histogram(options);
    this.#histograms.push(histogram);
    return histogram;
  }

  /** Nothing is kept of it: it is read whenever somebody asks. */
  gauge(options: GaugeOptions, read: () => Readings | Promise<Readings>): void {
    this.#gauges.push(async () => ({ ...options, type: 'gauge', values: await read() }));
  }

  async snapshot(): Promise<Snapshot> {
    const [counted, ...gauges] = await Promise.all([
      this.#registry.getMetricsAsJSON(),
      ...this.#gauges.map((read) => read()),
    ]);
    const metrics = counted.map(({ values, ...metric }) => ({
      ...metric,
      // Some of the process's figures are no numbers until there is anything to measure.
      values: values.filter(({ value }) => Number.isFinite(value)),
    }));
    const histograms = this.#histograms.map((histogram) => histogram.read());
    return [...snapshotShape.parse(metrics), ...histograms, ...gauges];
  }
}
