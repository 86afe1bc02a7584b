import { Counter, type CounterOptions } from './counter.ts';
import { Histogram, type HistogramOptions } from './histogram.ts';
import type { Metric, Snapshot } from './snapshot.ts';

type GaugeOptions = Pick<Metric, 'name' | 'help'>;

/** What a gauge shows, of each set of labels; nothing of what is not known. */
export type Readings = Metric['values'];

/** Makes what is counted with, and reads all of it. */
export class Instruments {
  readonly #reads: (() => Metric | Promise<Metric>)[] = [];

  counter<Label extends string>(options: CounterOptions<Label>): Counter<Label> {
    const counter = new Counter(options);
    this.#reads.push(() => counter.read());
    return counter;
  }

  histogram<Label extends string>(options: HistogramOptions<Label>): Histogram<Label> {
    const histogram = new Histogram(options);
    this.#reads.push(() => histogram.read());
    return histogram;
  }

  /** Nothing is kept of it: it is read whenever somebody asks. */
  gauge(options: GaugeOptions, read: () => Readings | Promise<Readings>): void {
    this.#reads.push(async () => ({ ...options, type: 'gauge', values: await read() }));
  }

  async snapshot(): Promise<Snapshot> {
    // It takes long to load, and no start is to wait for it.
    const { readProcessFigures } = await import('./process-figures.ts');
    const metrics = await Promise.all(this.#reads.map((read) => read()));
    return [...metrics, ...(await readProcessFigures())];
  }
}
