// What the engine needs of a database: an object that runs one statement at a time.

/** `name` is stable for a text, so that a driver can prepare it. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
};

/** Columns arrive as text or null. */
export type TextRow<Column extends string> = Readonly<Record<Column, string | null>>;

export type StatementRunner = {
  /**
   * Runs a statement by itself, under READ COMMITTED, and returns its rows. The server ends it after `timeoutMs`.
   *
   * @throws the errors of errors.ts
   */
  run<Row extends object>(statement: Statement, timeoutMs: number): Promise<readonly Row[]>;
};
