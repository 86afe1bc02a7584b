// Runs statements and transactions: each on a connection of connection-pool.ts, again as errors.ts says, and prepared as
// statement.ts says. All statements go through `Database`, which connect.ts opens.

import type pg from 'pg';
import { withDeadline } from '../runtime/deadline.ts';
import { inSpan } from '../runtime/tracing.ts';
import { ConnectionPool, type SharedServer } from './connection-pool.ts';
import type { DatabasePool, PoolUse, ServerConnection } from './database-pool.ts';
import {
  DatabaseUnavailable,
  databaseError,
  isOfServer,
  type NextStep,
  nextStepAfter,
} from './errors.ts';
import { type NamedStatement, type Query, Statements } from './named-statement.ts';
import {
  columnValues,
  LOG_SETTINGS,
  SESSION_SETTINGS,
  serverTimeouts,
  setSettings,
} from './session-settings.ts';
import type { Statement, StatementRunner } from './statement.ts';
import type { WantedTables } from './tables/application-tables.ts';
import { applicationTablesOf, recognizeTables } from './tables/recognize-tables.ts';
import type { TeamsTable } from './teams-table.ts';

export type { Query } from './named-statement.ts';

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

export type DatabaseOptions = {
  /** The server, or the app's own pool. */
  readonly connection: ServerConnection | DatabasePool;
  readonly maxConnections: number;
  /** After this time, a statement and its connection are given up. */
  readonly statementTimeoutMs: number;
  /** Starts the embedded server again when no connection could be made. The work is then retried once. */
  readonly ensureRunning?: () => Promise<void>;
  /** Whether every transaction is read-only, so that a standby is as good as its primary; not by default. */
  readonly isReadOnly?: boolean;
  readonly onConnectionError: (error: Error) => void;
  readonly tables?: WantedTables;
  /** The schemas of the search path; by default, that of the role or the database. */
  readonly searchPath?: readonly string[] | null;
};

/** At least one of several conflicting transactions succeeds, so a few attempts are enough. */
const MAX_CALLS = 5;

/** The server's own timeout comes first. This one is for a server that does not answer at all. */
const ANSWER_MARGIN_MS = 500;

/** A batch and the events that are stored alone, at most. */
const LOG_CONNECTIONS = 4;

const LOG_LOCALLY = setSettings(LOG_SETTINGS, 'local');

/** Opens a pool of connections. Nothing is connected before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

class PooledDatabase implements Database {
  #options: DatabaseOptions;
  #statements: Statements;
  #pool: ConnectionPool;
  /** For the statements of the log, which need other settings of their sessions. */
  #logPool: ConnectionPool;
  /** For a connection whose session others use too: a pooler's, or the app's. There, only `set local` is safe. */
  #setLocally: string;
  /** The timeout of a connection's session, where it is not that of all statements. */
  #sessionTimeoutsMs = new WeakMap<pg.PoolClient, number>();

  constructor(options: DatabaseOptions) {
    const { maxConnections, statementTimeoutMs, searchPath, tables = {} } = options;
    this.#options = options;
    this.#statements = new Statements(async (query) =>
      applicationTablesOf(await recognizeTables(query, tables)),
    );
    const settings = {
      ...serverTimeouts(statementTimeoutMs),
      ...SESSION_SETTINGS,
      ...(searchPath && { search_path: searchPath }),
    };
    this.#setLocally = setSettings(settings, 'local');
    const server: SharedServer = { failures: 0, inUse: new Map() };
    const pool = { ...options, needsWrites: !options.isReadOnly, settings, server };
    const logConnections = Math.min(LOG_CONNECTIONS, Math.max(1, Math.floor(maxConnections / 2)));
    this.#pool = new ConnectionPool({
      ...pool,
      maxConnections: Math.max(1, maxConnections - logConnections),
    });
    this.#logPool = new ConnectionPool({
      ...pool,
      maxConnections: logConnections,
      settings: { ...settings, ...LOG_SETTINGS },
    });
  }

  readonly query: Query = (statement, values) =>
    this.#run(this.#pool, (client) => this.#runAlone(client, statement, values));

  readonly transaction = <Result>(
    work: (query: Query) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> => this.#run(this.#pool, (client) => this.#transact(client, work, options));

  // A decision was made before the statement, so after a conflict the caller has to decide again.
  readonly run: StatementRunner['run'] = <Row extends object>(
    statement: Statement,
    timeoutMs: number,
  ) =>
    this.#run(this.#logPool, (client) => this.#runForLog<Row>(client, statement, timeoutMs), [
      'unprepare',
    ]);

  readonly findTeams = async (): Promise<TeamsTable> =>
    (await this.#statements.findTables(this.query)).teams.table;

  readonly poolUse = (): PoolUse => {
    const [one, other] = [this.#pool.use(), this.#logPool.use()];
    return {
      total: one.total + other.total,
      idle: one.idle + other.idle,
      waiting: one.waiting + other.waiting,
    };
  };

  readonly close = async (): Promise<void> => {
    await Promise.all([this.#pool.close(), this.#logPool.close()]);
  };

  /** Runs work on a connection, and again after errors with one of these next steps (`errors.ts`). */
  async #run<Result>(
    pool: ConnectionPool,
    work: (client: pg.PoolClient) => Promise<Result>,
    repeatedAfter: readonly NextStep[] = ['repeat', 'unprepare'],
  ): Promise<Result> {
    for (let calls = 1; ; calls += 1) {
      try {
        return await this.#withConnection(pool, work);
      } catch (error) {
        const nextStep = nextStepAfter(error);
        if (calls === MAX_CALLS || !repeatedAfter.includes(nextStep)) throw error;
        if (nextStep === 'unprepare') this.#statements.stopPreparing();
      }
    }
  }

  async #withConnection<Result>(
    pool: ConnectionPool,
    work: (client: pg.PoolClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connect(pool);
    try {
      const result = await work(client);
      pool.release(client);
      return result;
    } catch (error) {
      if (isOfServer(error)) void pool.discard(client, error);
      else pool.release(client);
      throw error;
    }
  }

  async #connect(pool: ConnectionPool): Promise<pg.PoolClient> {
    const { ensureRunning } = this.#options;
    try {
      return await pool.connect();
    } catch (error) {
      if (ensureRunning === undefined) throw error;
    }
    await ensureRunning().catch((cause: unknown) => {
      throw databaseError(cause);
    });
    return await pool.connect();
  }

  async #runAlone<Row extends object>(
    client: pg.PoolClient,
    statement: NamedStatement | string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    // A session that is read-only could reach another client of a pooler, so only transactions are.
    if (this.#pool.ownsSession(client) && !this.#options.isReadOnly) {
      return await this.#queryOn(client)<Row>(statement, values);
    }
    return await this.#transact(client, (query) => query<Row>(statement, values));
  }

  async #runForLog<Row extends object>(
    client: pg.PoolClient,
    statement: Statement,
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    const limitMs = Math.min(Math.ceil(timeoutMs), this.#options.statementTimeoutMs);
    if (!this.#logPool.ownsSession(client)) {
      const work = (query: Query) => query<Row>(statement);
      return await this.#transact(client, work, { timeoutMs: limitMs }, LOG_LOCALLY);
    }
    // The queue of batches nearly always has the same connection, and the same timeout.
    if (this.#sessionTimeoutsMs.get(client) !== limitMs) {
      await this.#send('set_timeout', client, { text: `set statement_timeout = ${limitMs}` });
      this.#sessionTimeoutsMs.set(client, limitMs);
    }
    return await withSyncedCommit(client, () => this.#queryOn(client)<Row>(statement));
  }

  async #transact<Result>(
    client: pg.PoolClient,
    work: (query: Query) => Promise<Result>,
    // Deciding and then writing requires that each statement sees everything that was committed before it began.
    { timeoutMs, isolation = 'read committed' }: TransactionOptions = {},
    settings?: string,
  ): Promise<Result> {
    const mode = this.#options.isReadOnly ? ' read only' : '';
    const start = [`begin isolation level ${isolation}${mode}`, settings ?? []].flat();
    if (!this.#pool.ownsSession(client)) start.push(this.#setLocally);
    if (timeoutMs !== undefined && timeoutMs < this.#options.statementTimeoutMs) {
      start.push(`set local statement_timeout = ${Math.ceil(timeoutMs)}`);
    }
    try {
      await this.#send('begin', client, { text: start.join(';\n') });
      const result = await work(this.#queryOn(client));
      await this.#commit(client);
      return result;
    } catch (error) {
      if (!isOfServer(error)) await this.#rollBack(client, error);
      throw error;
    }
  }

  /**
   * Rolls back after this error.
   *
   * @throws DatabaseUnavailable whatever fails, because the connection can still be in the transaction
   */
  async #rollBack(client: pg.PoolClient, cause: unknown): Promise<void> {
    try {
      await this.#send('rollback', client, { text: 'rollback' });
    } catch (error) {
      throw new DatabaseUnavailable(`the transaction was not rolled back: ${error}`, { cause });
    }
  }

  /** @throws DatabaseUnavailable when it is not certain that the transaction is permanent */
  async #commit(client: pg.PoolClient): Promise<void> {
    const { command } = await withSyncedCommit(client, () =>
      this.#send('commit', client, { text: 'commit' }),
    );
    // PostgreSQL answers the commit of a failed transaction without an error.
    if (command !== 'COMMIT') throw new DatabaseUnavailable('the transaction was rolled back');
  }

  #queryOn(client: pg.PoolClient): Query {
    return async <Row extends object>(
      statement: NamedStatement | string,
      values?: readonly unknown[],
    ) => {
      if (typeof statement === 'string') {
        const plain = { text: statement, types: columnValues };
        return (await this.#send<Row>('query', client, plain, values)).rows;
      }
      const text = await this.#statements.textOf(statement.text, this.#queryOn(client));
      const name = this.#statements.preparedNameOf(statement.name, text);
      const prepared = { ...(name !== undefined && { name }), text, types: columnValues };
      const { rows } = await this.#send<Row>(statement.name, client, prepared, statement.values);
      // V8 treats a result's array as long-lived, together with everything that stays in it.
      return rows.splice(0);
    };
  }

  async #send<Row extends object>(
    spanName: string,
    client: pg.PoolClient,
    statement: pg.QueryConfig,
    values?: readonly unknown[],
  ): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    const timeoutMs = this.#options.statementTimeoutMs + ANSWER_MARGIN_MS;
    return await inStatementSpan(spanName, () =>
      withDeadline(
        client.query<Row & pg.QueryResultRow>(statement, values && [...values]),
        timeoutMs,
      ),
    );
  }
}

/**
 * Does what ends with a commit. PostgreSQL only warns if the wait for a synchronous standby was canceled: the transaction
 * would be lost together with this server.
 *
 * @throws DatabaseUnavailable then
 */
async function withSyncedCommit<Result>(
  client: pg.PoolClient,
  work: () => Promise<Result>,
): Promise<Result> {
  let problem: string | undefined;
  const onNotice = (notice: { routine?: string | undefined; message?: string | undefined }) => {
    if (notice.routine === STANDBY_WAIT) problem = notice.message ?? 'no standby has it';
  };
  client.on('notice', onNotice);
  try {
    const result = await work();
    if (problem !== undefined) throw new DatabaseUnavailable(problem);
    return result;
  } finally {
    client.off('notice', onNotice);
  }
}

/** The span has the SQLSTATE of an error. @throws the errors of `errors.ts` */
async function inStatementSpan<Result>(
  name: string,
  start: () => Promise<Result>,
): Promise<Result> {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
  try {
    return await inSpan(name, { kind: 'CLIENT', attributes }, start);
  } catch (error) {
    throw databaseError(error);
  }
}

/** The routine of PostgreSQL that warns. The application's own triggers can also warn. */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

/** Writes nothing, and is refused by a standby. @throws DatabaseUnavailable if the server accepts no writes */
export async function checkWritable(query: Query): Promise<void> {
  const text = 'update instep.events set deliveries = deliveries where false';
  await query({ name: 'check_writable', text });
}
