// Hides how `pg` sends and reads statements, so that several of them need one `Sync`. database.ts adds them.

import pg from 'pg';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { columnValues } from './session-settings.ts';

/** A single command. If it has a name, each connection prepares it once. */
type PreparedStatement = {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
};

export type Answer<Row> = {
  /** Their type is the caller's claim about the text. */
  readonly rows: Row[];
  /** What PostgreSQL did, such as `COMMIT`. */
  readonly command: string;
};

type Columns = readonly { readonly name: string; readonly parse: (text: string) => unknown }[];

type Sent = {
  readonly name: string | undefined;
  readonly text: string;
  readonly rows: unknown[];
  /** `null` before the server has described them. */
  columns: Columns | null;
  readonly resolve: (command: string) => void;
  readonly reject: (error: unknown) => void;
};

declare module 'pg' {
  /** What `pg` reads of a query and calls on it. */
  interface Query {
    name: string | undefined;
    text: string;
    handleRowDescription(message: RowDescription): void;
    handleDataRow(message: { fields: readonly (string | null)[] }): void;
    handleCommandComplete(message: { text: string }, connection: Connection): void;
    handleReadyForQuery(): void;
    handleError(error: Error, connection: Connection): void;
  }
  interface Connection {
    /** The texts of the statements that are prepared, and of those that were only sent. */
    readonly parsedStatements: Readonly<Record<string, string>>;
    readonly submittedNamedStatements: Record<string, string>;
  }
}

/** What `pg` exports, and does not declare. */
type Undeclared = { readonly utils: { prepareValue(value: unknown): string | Buffer | null } };

const { prepareValue } = (pg as typeof pg & Undeclared).utils;

type RowDescription = {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
};

/** The columns of prepared statements, which never change. */
const described = new WeakMap<pg.Connection, Map<string, Columns>>();

/**
 * Statements that are answered together: for `pg`, they are one query, with one `Sync` behind the last one. So the
 * server wakes us up once instead of after each statement, and starts with the first one while the others are written.
 * If one fails, the server skips those behind it. A statement's columns are asked for once.
 */
export class RoundTrip extends pg.Query {
  #connection: pg.Connection | undefined;
  #sent: Sent[] = [];
  #answered = 0;
  #timer: NodeJS.Timeout;
  #hasEnded = false;
  readonly #onEnd: () => void;

  /**
   * @param client must pipeline, and be of this module's `pg`
   * @param onEnd called when no more statements can be added
   */
  constructor(client: pg.Client, deadlineMs: number, onEnd: () => void) {
    super('');
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.#fail(new DeadlineExceeded(deadlineMs)), deadlineMs);
    client.query(this);
    // Once the code that sends statements now waits for an answer.
    process.nextTick(() => this.end());
  }

  /** @throws DeadlineExceeded or an error of `pg` */
  add<Row extends object>({ name, text, values }: PreparedStatement): Promise<Answer<Row>> {
    const rows: unknown[] = [];
    return new Promise((resolve, reject) => {
      const parameters = values.map((value) => prepareValue(value));
      const connection = this.#connection;
      const columns = (name && connection && describedOn(connection).get(name)) || null;
      const answer = (command: string) => resolve({ rows: rows as Row[], command });
      const sent: Sent = { name, text, columns, rows, resolve: answer, reject };
      this.#sent.push(sent);
      if (this.#sent.length === 1) this.#expect(sent);
      if (connection === undefined) return;
      // Each is sent when the next one comes, so that the last one is sent together with the `Sync`.
      connection.stream.uncork();
      connection.stream.cork();
      if (!isPrepared(connection, name)) {
        connection.parse({ name: name ?? '', text, types: [] }, false);
        if (name !== undefined) connection.submittedNamedStatements[name] = text;
      }
      connection.bind({ statement: name, values: parameters }, false);
      if (columns === null) connection.describe({ type: 'P' }, false);
      connection.execute({}, false);
    });
  }

  /** Sends the `Sync`, unless that has happened. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd();
    this.#connection?.sync();
    this.#connection?.stream.uncork();
  }

  override submit = (connection: pg.Connection): void => {
    this.#connection = connection;
    connection.stream.cork();
  };

  override handleRowDescription({ fields }: RowDescription): void {
    const sent = this.#sent[this.#answered];
    if (sent === undefined) return;
    sent.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: columnValues.getTypeParser(dataTypeID, 'text'),
    }));
  }

  override handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const sent = this.#sent[this.#answered];
    if (sent === undefined) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [index, { name, parse }] of (sent.columns ?? []).entries()) {
        const text = fields[index] ?? null;
        row[name] = text === null ? null : parse(text);
      }
      sent.rows.push(row);
    } catch (error) {
      // Thrown to `pg`, it would end the process.
      sent.reject(error);
    }
  }

  override handleCommandComplete({ text }: { text: string }, connection: pg.Connection): void {
    const sent = this.#sent[this.#answered];
    if (sent === undefined) return;
    const { name, columns } = sent;
    if (name !== undefined) describedOn(connection).set(name, columns ?? []);
    sent.resolve(text);
    this.#answered += 1;
    const next = this.#sent[this.#answered];
    if (next !== undefined) this.#expect(next);
  }

  override handleReadyForQuery(): void {
    clearTimeout(this.#timer);
  }

  override handleError(error: Error, connection: pg.Connection): void {
    clearTimeout(this.#timer);
    for (const { name } of this.#sent.slice(this.#answered)) {
      if (name !== undefined) delete connection.submittedNamedStatements[name];
    }
    this.#fail(error);
  }

  #fail(error: Error): void {
    for (const { reject } of this.#sent.slice(this.#answered)) reject(error);
  }

  /** `pg` notes by these that a statement is prepared. */
  #expect({ name, text }: Sent): void {
    this.name = name;
    this.text = text;
  }
}

function describedOn(connection: pg.Connection): Map<string, Columns> {
  const known = described.get(connection) ?? new Map<string, Columns>();
  described.set(connection, known);
  return known;
}

function isPrepared(connection: pg.Connection, name: string | undefined): boolean {
  if (name === undefined) return false;
  const { parsedStatements, submittedNamedStatements } = connection;
  return (parsedStatements[name] ?? submittedNamedStatements[name]) !== undefined;
}
