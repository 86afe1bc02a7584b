import { line, type Metric, metric } from './exposition.ts';

/** The labels must have the same order at every observation of a metric. */
type Labels = Readonly<Record<string, string>>;

/**
 * The values of one metric, one for each set of labels. Those of prom-client check and join labels at each
 * observation, which took 2.5% of the time of a profile request.
 */
abstract class Series<Value> {
  readonly #name: string;
  readonly #help: string;
  readonly #type: string;
  readonly #entries = new Map<string, { readonly labels: Labels; value: Value }>();

  constructor(type: string, name: string, help: string) {
    this.#type = type;
    this.#name = name;
    this.#help = help;
  }

  protected abstract zero(): Value;
  protected abstract linesOf(name: string, labels: Labels, value: Value): string[];

  /** Exposes a zero from now on, because Prometheus sees a rise only between two samples. */
  declare(labels: Labels = {}): { value: Value } {
    let key = '';
    for (const name in labels) key += `${labels[name]}\n`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = { labels, value: this.zero() };
    this.#entries.set(key, entry);
    return entry;
  }

  read(): Metric {
    const lines = [...this.#entries.values()].flatMap(({ labels, value }) =>
      this.linesOf(this.#name, labels, value),
    );
    return metric(this.#name, this.#help, this.#type, lines);
  }
}

export class Counter extends Series<number> {
  constructor(name: string, help: string) {
    super('counter', name, help);
  }

  increase(labels?: Labels): void {
    this.declare(labels).value += 1;
  }

  protected zero(): number {
    return 0;
  }

  protected linesOf(name: string, labels: Labels, value: number): string[] {
    return [line(name, labels, value)];
  }
}

type Distribution = { readonly counts: number[]; sum: number };

export class Histogram extends Series<Distribution> {
  readonly #bounds: readonly number[];

  /** @param bounds the upper bounds of the buckets, ascending, without the infinite one */
  constructor(name: string, help: string, bounds: readonly number[]) {
    super('histogram', name, help);
    this.#bounds = bounds;
  }

  observe(value: number, labels?: Labels): void {
    const distribution = this.declare(labels).value;
    let index = 0;
    while (value > (this.#bounds[index] ?? Number.POSITIVE_INFINITY)) index += 1;
    distribution.counts[index] = (distribution.counts[index] ?? 0) + 1;
    distribution.sum += value;
  }

  protected zero(): Distribution {
    return { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
  }

  protected linesOf(name: string, labels: Labels, { counts, sum }: Distribution): string[] {
    let count = 0;
    const buckets = counts.map((one, index) => {
      // A Prometheus bucket includes all smaller ones.
      count += one;
      const le = String(this.#bounds[index] ?? '+Inf');
      return line(`${name}_bucket`, { ...labels, le }, count);
    });
    return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
  }
}
