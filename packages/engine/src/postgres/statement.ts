// What a statement is: database.ts and the adapters of other drivers send them.

import { hash } from 'node:crypto';
import type { ApplicationTables } from './tables/application-tables.ts';

/** A statement of the log. `name` is stable for a text, so that a driver can prepare it. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
};

/** Columns arrive as text or null. */
export type TextRow<Column extends string> = Readonly<Record<Column, string | null>>;

/** What the log needs of a database. */
export type StatementRunner = {
  /**
   * Runs a statement by itself, under READ COMMITTED, and returns its rows. The server ends it after `timeoutMs`.
   *
   * @throws the errors of errors.ts
   */
  run<Row extends object>(statement: Statement, timeoutMs: number): Promise<readonly Row[]>;
};

/** The text of a statement, or a function that builds it from the names of the application's tables. */
type StatementText = string | ((tables: ApplicationTables) => string);

/** A statement that each connection prepares once, under a name that also names its span. */
export type NamedStatement = {
  readonly name: string;
  readonly text: StatementText;
  readonly values?: readonly unknown[];
};

/** Runs one statement and returns its rows. A plain string is not prepared. */
export type Query = <Row extends object>(
  statement: NamedStatement | string,
  values?: readonly unknown[],
) => Promise<Row[]>;

/** The row of a statement that always has one, such as a count. */
export async function onlyRow<Row extends object>(
  query: Query,
  statement: NamedStatement | string,
): Promise<Row> {
  const [row] = await query<Row>(statement);
  if (row === undefined) throw new RangeError('a statement that always has a row had none');
  return row;
}

/** The statements of one database: their texts, and the names under which connections prepare them. */
export class Statements {
  #lookUp: (query: Query) => Promise<ApplicationTables>;
  #tables: ApplicationTables | null = null;
  #texts = new WeakMap<Exclude<StatementText, string>, string>();
  #names: Map<string, string> | null = new Map();

  constructor(lookUp: (query: Query) => Promise<ApplicationTables>) {
    this.#lookUp = lookUp;
  }

  /** The application's tables, which are looked up once, and are the same object from then on. */
  async findTables(query: Query): Promise<ApplicationTables> {
    const tables = this.#tables ?? (await this.#lookUp(query));
    this.#tables ??= tables;
    return this.#tables;
  }

  /** The text to send. */
  async textOf(text: StatementText, query: Query): Promise<string> {
    if (typeof text === 'string') return text;
    const made = this.#texts.get(text) ?? text(await this.findTables(query));
    this.#texts.set(text, made);
    return made;
  }

  /**
   * The name to prepare a statement under. It contains a hash of the text, so that a connection shared by
   * several clients never runs another version's statement of the same name.
   */
  preparedNameOf(name: string, text: string): string | undefined {
    if (this.#names === null) return undefined;
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const prepared = `instep_${name}_${hash('sha256', text).slice(0, 16)}`;
    this.#names.set(text, prepared);
    return prepared;
  }

  /**
   * Prepares no more statements. A pooler that does not support them (PgBouncer before 1.21, in transaction mode)
   * gives every transaction another connection, where the name is unknown; and a prepared statement no longer fits
   * a table that was altered.
   */
  stopPreparing(): void {
    this.#names = null;
  }
}

/** A value as PostgreSQL reads it, for drivers that would make JSON of a text that is JSON already. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (!Array.isArray(value)) return String(value);
  const elements = value.map((element) => {
    const text = textOf(element);
    return text === null ? 'null' : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}

/** The values of these properties, one list for each, as `unnest` expects them. */
export function columnArrays<Row>(
  rows: readonly Row[],
  ...names: readonly (keyof Row)[]
): readonly unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}
