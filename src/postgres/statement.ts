import type { ApplicationTables } from './tables/application-tables.ts';

/** The text of a statement; one that uses the application's tables is made with their names. */
export type StatementText = string | ((tables: ApplicationTables) => string);

/** A statement that each connection prepares once, under a name that also names its span. */
export type NamedStatement = {
  readonly name: string;
  readonly text: StatementText;
  readonly values?: readonly unknown[];
};

/** Runs one statement and returns its rows. A plain text is not prepared. */
export type Query = <Row extends object>(
  statement: NamedStatement | string,
  values?: readonly unknown[],
) => Promise<Row[]>;
