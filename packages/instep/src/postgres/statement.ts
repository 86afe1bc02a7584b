import type { ApplicationTables } from './tables/application-tables.ts';

/** The text of a statement, or a function that builds it from the names of the application's tables. */
export type StatementText = string | ((tables: ApplicationTables) => string);

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
