export type Labels<Label extends string> = Readonly<Record<Label, string>>;

/** One for each set of labels that was asked for. */
export class Labelled<Label extends string, One> {
  readonly #labelNames: readonly Label[];
  readonly #create: () => One;
  readonly #all = new Map<string, { readonly labels: Labels<Label>; readonly one: One }>();

  constructor(labelNames: readonly Label[], create: () => One) {
    this.#labelNames = labelNames;
    this.#create = create;
  }

  with(labels: Labels<Label>): One {
    const key = this.#labelNames.map((name) => labels[name]).join('\n');
    const known = this.#all.get(key);
    if (known !== undefined) return known.one;
    const one = this.#create();
    this.#all.set(key, { labels, one });
    return one;
  }

  /** What each of them says, with its labels. */
  flatMap<Result>(read: (one: One, labels: Labels<Label>) => readonly Result[]): Result[] {
    return [...this.#all.values()].flatMap(({ labels, one }) => read(one, labels));
  }
}
