// Runs statements and transactions: each on a connection of connections.ts, again as errors.ts says, and prepared as
// statement.ts says. All statements go through `Database`.

import type pg from 'pg';
import { withDeadline } from '../runtime/deadline.ts';
import { inSpan } from '../runtime/tracing.ts';
import type { DatabasePlace, PoolOptions, PoolUse } from './connection-options.ts';
import { type Connection, Connections, type Purpose } from './connections.ts';
import { parseDatabaseUrl } from './database-url.ts';
import {
  DatabaseError,
  DatabaseUnavailable,
  databaseError,
  isOfServer,
  type NextStep,
} from './errors.ts';
import {
  ANSWER_MARGIN_MS,
  columnValues,
  sessionSettings,
  setSettings,
} from './session-settings.ts';
import {
  type NamedStatement,
  type Query,
  type Statement,
  type StatementRunner,
  Statements,
} from './statement.ts';
import type { WantedTables } from './tables/application-tables.ts';
import { applicationTablesOf, recognizeTables } from './tables/recognize-tables.ts';
import type { TeamsTable } from './teams-table.ts';

export type { Query } from './statement.ts';

type TransactionOptions = {
  /** After this time, PostgreSQL ends a statement, also while it waits for a lock; that of all statements by default. */
  readonly timeoutMs?: number;
  /** `repeatable read`: all statements see the same, and a conflict repeats the work. By default, each sees what is new. */
  readonly isolation?: 'read committed' | 'repeatable read';
};

export type Database = StatementRunner & {
  /** One statement on a connection of its own. @throws the errors of `errors.ts` */
  readonly query: Query;
  /**
   * Commits the statements of `work`, or rolls all of them back if it throws. After a conflict with another transaction,
   * `work` is repeated.
   */
  transaction<Result>(
    work: (query: Query) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** The application's table of teams, for the statements of the log. */
  findTeams(): Promise<TeamsTable>;
  poolUse(): PoolUse;
  close(): Promise<void>;
};

export type DatabaseOptions = DatabasePlace & PoolOptions & { readonly tables?: WantedTables };

/** The database server in use: yours, the embedded one, or that of an app's pool. */
export type DatabaseServer = {
  readonly isEmbedded: boolean;
  readonly tables: WantedTables;
  open(options: PoolOptions): Database;
  /** Releases the server. An embedded one stops when no other process uses it. */
  release(): Promise<void>;
};

/**
 * The server at a connection URL, or that of an app's pool. `tables` has your names for tables and columns.
 *
 * @throws UnfitUrl
 */
export function serverAt(place: string | DatabasePlace, tables: WantedTables = {}): DatabaseServer {
  const options = typeof place === 'string' ? parseDatabaseUrl(place) : place;
  return {
    isEmbedded: false,
    tables,
    open: (pool) => openDatabase({ ...pool, tables, ...options }),
    release: async () => undefined,
  };
}

/** Opens a pool of connections. Nothing is connected before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

/** At least one of several conflicting transactions succeeds, so a few attempts are enough. */
const MAX_CALLS = 5;

class PooledDatabase implements Database {
  #options: DatabaseOptions;
  #statements: Statements;
  #connections: Connections;
  /** For a connection whose session others use too: a pooler's, or the app's. There, only `set local` is safe. */
  #setLocally: Readonly<Record<Purpose, string>>;

  constructor(options: DatabaseOptions) {
    const { statementTimeoutMs, searchPath = null, tables = {} } = options;
    this.#options = options;
    this.#statements = new Statements(async (query) =>
      applicationTablesOf(await recognizeTables(query, tables)),
    );
    const settings = sessionSettings(statementTimeoutMs, searchPath);
    this.#connections = new Connections(options, settings);
    this.#setLocally = {
      log: setSettings(settings.log, 'local'),
      others: setSettings(settings.others, 'local'),
    };
  }

  readonly query: Query = (statement, values) =>
    this.#run('others', (connection) => this.#runAlone(connection, statement, values));

  readonly transaction = <Result>(
    work: (query: Query) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> =>
    this.#run('others', (connection) => this.#transact('others', connection, work, options));

  // A decision was made before the statement, so after a conflict the caller has to decide again.
  readonly run: StatementRunner['run'] = <Row extends object>(
    statement: Statement,
    timeoutMs: number,
  ) =>
    this.#run('log', (connection) => this.#runForLog<Row>(connection, statement, timeoutMs), [
      'unprepare',
    ]);

  readonly findTeams = async (): Promise<TeamsTable> =>
    (await this.#statements.findTables(this.query)).teams;

  readonly poolUse = (): PoolUse => this.#connections.use();

  readonly close = (): Promise<void> => this.#connections.close();

  /** Runs work on a connection, and again after errors with one of these next steps (`errors.ts`). */
  async #run<Result>(
    purpose: Purpose,
    work: (connection: Connection) => Promise<Result>,
    repeatedAfter: readonly NextStep[] = ['repeat', 'unprepare'],
  ): Promise<Result> {
    for (let calls = 1; ; calls += 1) {
      const connection = await this.#connections.take(purpose);
      try {
        const result = await work(connection);
        this.#connections.release(connection);
        return result;
      } catch (error) {
        if (isOfServer(error)) void this.#connections.discard(connection, error);
        else this.#connections.release(connection);
        const nextStep = error instanceof DatabaseError ? error.nextStep : 'give up';
        if (calls === MAX_CALLS || !repeatedAfter.includes(nextStep)) throw error;
        if (nextStep === 'unprepare') this.#statements.stopPreparing();
      }
    }
  }

  async #runAlone<Row extends object>(
    connection: Connection,
    statement: NamedStatement | string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    // A session that is read-only could reach another client of a pooler, so only transactions are.
    if (connection.ownsSession && !this.#options.isReadOnly) {
      return await this.#queryOn(connection)<Row>(statement, values);
    }
    return await this.#transact('others', connection, (query) => query<Row>(statement, values));
  }

  async #runForLog<Row extends object>(
    connection: Connection,
    statement: Statement,
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    const limitMs = Math.min(Math.ceil(timeoutMs), this.#options.statementTimeoutMs);
    if (!connection.ownsSession) {
      const work = (query: Query) => query<Row>(statement);
      return await this.#transact('log', connection, work, { timeoutMs: limitMs });
    }
    // The queue of batches nearly always has the same connection, and the same timeout.
    if (connection.timeoutMs !== limitMs) {
      await this.#send(connection, 'set_timeout', `set statement_timeout = ${limitMs}`);
      connection.timeoutMs = limitMs;
    }
    return await this.#queryOn(connection)<Row>(statement);
  }

  async #transact<Result>(
    purpose: Purpose,
    connection: Connection,
    work: (query: Query) => Promise<Result>,
    // Deciding and then writing requires that each statement sees everything that was committed before it began.
    { timeoutMs, isolation = 'read committed' }: TransactionOptions = {},
  ): Promise<Result> {
    const start = [
      `begin isolation level ${isolation}${this.#options.isReadOnly ? ' read only' : ''}`,
    ];
    if (!connection.ownsSession) start.push(this.#setLocally[purpose]);
    if (timeoutMs !== undefined && timeoutMs < this.#options.statementTimeoutMs) {
      start.push(`set local statement_timeout = ${Math.ceil(timeoutMs)}`);
    }
    try {
      await this.#send(connection, 'begin', start.join(';\n'));
      const result = await work(this.#queryOn(connection));
      const { command } = await this.#send(connection, 'commit', 'commit');
      // PostgreSQL answers the commit of a failed transaction without an error.
      if (command !== 'COMMIT') throw new DatabaseUnavailable('the transaction was rolled back');
      return result;
    } catch (error) {
      if (!isOfServer(error)) await this.#rollBack(connection, error);
      throw error;
    }
  }

  /**
   * Rolls back after this error.
   *
   * @throws DatabaseUnavailable whatever fails, because the connection can still be in the transaction
   */
  async #rollBack(connection: Connection, cause: unknown): Promise<void> {
    try {
      await this.#send(connection, 'rollback', 'rollback');
    } catch (error) {
      throw new DatabaseUnavailable(`the transaction was not rolled back: ${error}`, { cause });
    }
  }

  #queryOn(connection: Connection): Query {
    return async <Row extends object>(
      statement: NamedStatement | string,
      values?: readonly unknown[],
    ) => {
      if (typeof statement === 'string') {
        const plain = { text: statement, types: columnValues };
        return (await this.#send<Row>(connection, 'query', plain, values)).rows;
      }
      const text = await this.#statements.textOf(statement.text, this.#queryOn(connection));
      const name = this.#statements.preparedNameOf(statement.name, text);
      const prepared = { ...(name !== undefined && { name }), text, types: columnValues };
      const { rows } = await this.#send<Row>(
        connection,
        statement.name,
        prepared,
        statement.values,
      );
      // V8 treats a result's array as long-lived, together with everything that stays in it.
      return rows.splice(0);
    };
  }

  /**
   * The span has the SQLSTATE of an error.
   *
   * @throws the errors of `errors.ts`; DatabaseUnavailable when it is not certain that what it committed is permanent
   */
  async #send<Row extends object>(
    connection: Connection,
    spanName: string,
    statement: pg.QueryConfig | string,
    values?: readonly unknown[],
  ): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': spanName };
    const timeoutMs = this.#options.statementTimeoutMs + ANSWER_MARGIN_MS;
    try {
      return await inSpan(spanName, { kind: 'CLIENT', attributes }, async () => {
        const { client } = connection;
        const sent = client.query<Row & pg.QueryResultRow>(statement, values && [...values]);
        const result = await withDeadline(sent, timeoutMs);
        if (connection.lostCommit) throw new DatabaseUnavailable(connection.lostCommit);
        return result;
      });
    } catch (error) {
      throw databaseError(error);
    }
  }
}
