/** A JSON text as a tree in which each value stands as it was sent. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[]; readonly isCut: boolean }
  | { readonly kind: 'list'; readonly items: readonly JsonNode[]; readonly isCut: boolean }
  | { readonly kind: 'text'; readonly text: string }
  /** A number, `true`, `false` or `null`, in the very characters that were sent. */
  | { readonly kind: 'literal'; readonly source: string }
  /** What is nested too deeply to be shown. */
  | { readonly kind: 'too deep' };

export type JsonMember = { readonly name: string; readonly value: JsonNode };

/** More than Stripe sends, and few enough for a browser. */
const MAX_VALUES = 3_000;
const MAX_DEPTH = 40;

/**
 * Reads a JSON text into a tree, or `null` when it is none. `JSON.parse` alone would make
 * other numbers of large ones, and one member of two that have the same name.
 */
export function readJsonTree(text: string): JsonNode | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return new Reader(text).value(0);
}

/** Goes through a text that is known to be JSON. */
class Reader {
  readonly #text: string;
  #at = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonNode {
    this.#values += 1;
    const first = this.#peek();
    if (first === '{' || first === '[') {
      if (depth < MAX_DEPTH) return first === '{' ? this.#object(depth) : this.#list(depth);
      this.#skipNested();
      return { kind: 'too deep' };
    }
    if (first === '"') return { kind: 'text', text: this.#string() };
    return { kind: 'literal', source: this.#literal() };
  }

  #object(depth: number): JsonNode {
    const members: JsonMember[] = [];
    const isCut = this.#entries('}', () => {
      const name = this.#string();
      this.#expect(':');
      members.push({ name, value: this.value(depth + 1) });
    });
    return { kind: 'object', members, isCut };
  }

  #list(depth: number): JsonNode {
    const items: JsonNode[] = [];
    const isCut = this.#entries(']', () => items.push(this.value(depth + 1)));
    return { kind: 'list', items, isCut };
  }

  /** Reads what stands between two brackets. Returns whether some of it was left out. */
  #entries(closing: string, read: () => void): boolean {
    this.#at += 1;
    while (this.#peek() !== closing) {
      if (this.#values >= MAX_VALUES) {
        this.#skipNested(1);
        return true;
      }
      read();
      if (this.#peek() === ',') this.#at += 1;
    }
    this.#at += 1;
    return false;
  }

  #string(): string {
    this.#peek();
    const start = this.#at;
    this.#skipString();
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #literal(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !',]} \t\r\n'.includes(this.#text[this.#at] ?? '')) {
      this.#at += 1;
    }
    return this.#text.slice(start, this.#at);
  }

  /** Goes beyond an object or a list, however deep it is; or beyond so many that are open. */
  #skipNested(open = 0): void {
    let depth = open;
    do {
      const next = this.#peek();
      if (next === '"') this.#skipString();
      else this.#at += 1;
      if (next === '{' || next === '[') depth += 1;
      if (next === '}' || next === ']') depth -= 1;
    } while (depth > 0);
  }

  #skipString(): void {
    do {
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    } while (this.#text[this.#at] !== '"');
    this.#at += 1;
  }

  /** The next character that is no white space, which stays where it is. */
  #peek(): string {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? '.')) this.#at += 1;
    return this.#text[this.#at] ?? '';
  }

  #expect(character: string): void {
    if (this.#peek() !== character) throw new RangeError('the text is no JSON');
    this.#at += 1;
  }
}
