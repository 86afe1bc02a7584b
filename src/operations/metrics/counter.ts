import { Labelled, type Labels } from './labelled.ts';
import type { Metric } from './snapshot.ts';

export type CounterOptions<Label extends string> = {
  readonly name: string;
  /** A sentence for whoever reads the figures. */
  readonly help: string;
  readonly labelNames: readonly Label[];
};

/** How often something happened, for each set of labels. */
export class Counter<Label extends string = never> {
  readonly #options: CounterOptions<Label>;
  readonly #counts: Labelled<Label, Count>;

  constructor(options: CounterOptions<Label>) {
    this.#options = options;
    this.#counts = new Labelled(options.labelNames, () => new Count());
  }

  /** The one with these labels, which is shown from now on. Whoever counts often keeps it. */
  with(labels: Labels<Label>): Count {
    return this.#counts.with(labels);
  }

  read(): Metric {
    const { name, help } = this.#options;
    const values = this.#counts.flatMap(({ value }, labels) => [{ labels, value }]);
    return { name, help, type: 'counter', values };
  }
}

/** How often something happened. */
export class Count {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  increase(): void {
    this.#value += 1;
  }
}
