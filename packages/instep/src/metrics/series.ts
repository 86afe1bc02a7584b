// Counters, gauges and histograms in the text format of Prometheus.

export type Labels = Readonly<Record<string, string>>;

/** One metric with its present values, in the text format of Prometheus. */
export type Metric = { readonly comments: string; readonly lines: readonly string[] };

/** The response of `GET /metrics`. */
export type Exposition = {
  readonly contentType: string;
  /** All metrics, within a few seconds. */
  expose(): Promise<string>;
};

export function createExposition(read: () => Promise<readonly Metric[]>): Exposition {
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    async expose() {
      const all = (await read()).flatMap(({ comments, lines }) => [comments, ...lines]);
      return `${all.join('\n')}\n`;
    },
  };
}

/** A value of this moment. An unknown one (`null` or `undefined`) is left out. */
export function gauge(name: string, help: string, value: number | null | undefined): Metric {
  return metric(name, help, 'gauge', value == null ? [] : [line(name, {}, value)]);
}

/** One value of this moment for each value of a label. */
export function gaugeBy(
  label: string,
  name: string,
  help: string,
  values: Readonly<Record<string, number>>,
): Metric {
  const lines = Object.entries(values).map(([text, value]) => line(name, { [label]: text }, value));
  return metric(name, help, 'gauge', lines);
}

/** A sum that something else keeps. */
export function counter(name: string, help: string, value: number): Metric {
  return metric(name, help, 'counter', [line(name, {}, value)]);
}

/** The values of one metric, one for each set of labels, which must always have the same order. */
abstract class Series<Value> {
  #name: string;
  #help: string;
  #type: string;
  #entries = new Map<string, { labels: Labels; value: Value }>();

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

/** A number of occurrences. */
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

type Distribution = { counts: number[]; sum: number };

/** A distribution of values over fixed buckets. */
export class Histogram extends Series<Distribution> {
  #bounds: readonly number[];

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

function metric(name: string, help: string, type: string, lines: string[]): Metric {
  return { comments: `# HELP ${name} ${help}\n# TYPE ${name} ${type}`, lines };
}

/** `name{label="value"} 1` */
function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}
