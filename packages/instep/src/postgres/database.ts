// Runs statements and transactions: each on a connection of connection-pool.ts, again as errors.ts says, and prepared as
// statement.ts says. All statements go through `Database`, which connect.ts opens.

import pg from 'pg';
import { withDeadline } from '../runtime/deadline.ts';
import { inSpan } from '../runtime/tracing.ts';
import { ConnectionPool, type ServerTimeouts } from './connection-pool.ts';
import type { DatabasePool, PoolUse, ServerConnection } from './database-pool.ts';
import {
  DatabaseBusy,
  DatabaseUnavailable,
  databaseError,
  isOfServer,
  nextStepAfter,
  sqlState,
  TablesUnknown,
} from './errors.ts';
import { type Answer, RoundTrip } from './round-trip.ts';
import { columnValues, SESSION_SETTINGS, setStatements } from './session-settings.ts';
import { type NamedStatement, type Query, Statements, type Use } from './statement.ts';
import type { DeclaredTables } from './tables/application-tables.ts';
import { applicationTablesOf, recognizeTables } from './tables/recognize-tables.ts';

export type { Query } from './statement.ts';

/** Adds statements that only the commit depends on. They are sent together with it. */
export type AtCommit = (...statements: Promise<unknown>[]) => void;

export type Work<Result> = (query: Query, atCommit: AtCommit) => Promise<Result>;

type TransactionOptions = {
  /** After this time, PostgreSQL ends a statement, also while it waits for a lock; that of all statements by default. */
  readonly timeoutMs?: number | undefined;
  /** `repeatable read`: all statements see the database at one moment. `read committed` by default. */
  readonly isolation?: 'repeatable read';
};

export type Database = {
  /** One statement on a connection of its own. @throws the errors of `errors.ts` */
  readonly query: Query;
  /**
   * Commits the statements of `work`, or rolls all of them back if it throws. Statements that `work` does not
   * await one by one are sent together. After a conflict with another transaction, `work` is repeated.
   */
  transaction<Result>(work: Work<Result>, options?: TransactionOptions): Promise<Result>;
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
  readonly onConnectionError: (error: Error) => void;
  readonly tables?: DeclaredTables;
  /** The schemas of the search path; by default, that of the role or the database. */
  readonly searchPath?: readonly string[] | null;
};

/** At least one of several conflicting transactions succeeds, so a few attempts are enough. */
const MAX_CALLS = 5;

/** The server's own timeout comes first. This one is for a server that does not answer at all. */
const ANSWER_MARGIN_MS = 500;

/** Plans are made once, for any number of values, and use indexes, because a table that was small can have grown. */
const SETTINGS: Readonly<Record<Use, readonly string[]>> = {
  alone: [],
  deciding: ['set local plan_cache_mode = force_generic_plan', 'set local enable_seqscan = off'],
};

/** Opens a pool of connections. Nothing is connected before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

class PooledDatabase implements Database {
  #options: DatabaseOptions;
  #statements: Statements;
  #timeouts: ServerTimeouts;
  #answerTimeoutMs: number;
  #pool: ConnectionPool;
  /** For a connection whose session others use too: a pooler's, or the app's. There, only `set local` is safe. */
  #setLocally: string;
  /** The last statement of each connection that does not pipeline. */
  #lastStatements = new WeakMap<pg.PoolClient, Promise<unknown>>();
  /** The round trip of each connection to which statements can still be added. */
  #roundTrips = new WeakMap<pg.PoolClient, RoundTrip>();

  constructor(options: DatabaseOptions) {
    const { statementTimeoutMs, searchPath, tables = {} } = options;
    this.#options = options;
    const query: Query = (statement, values) =>
      this.#withConnection((client) => this.#runAlone(client, statement, values));
    this.#statements = new Statements(async () =>
      applicationTablesOf(await recognizeTables(query, tables)),
    );
    this.#timeouts = {
      statement_timeout: statementTimeoutMs,
      lock_timeout: Math.ceil(statementTimeoutMs / 2),
      idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    };
    this.#answerTimeoutMs = statementTimeoutMs + ANSWER_MARGIN_MS;
    const settings = { ...SESSION_SETTINGS, ...(searchPath && { search_path: searchPath }) };
    this.#setLocally = setStatements('set local', { ...this.#timeouts, ...settings });
    this.#pool = new ConnectionPool({
      connection: options.connection,
      onConnectionError: options.onConnectionError,
      timeouts: this.#timeouts,
      settings,
      pool: {
        max: options.maxConnections,
        application_name: 'instep',
        pipeline: true,
        keepAlive: true,
        // An idle connection must not keep alive a process that has nothing else to do.
        allowExitOnIdle: true,
      },
    });
  }

  readonly query: Query = (statement, values) =>
    this.#run((client) => this.#runAlone(client, statement, values));

  readonly transaction = <Result>(
    work: Work<Result>,
    options?: TransactionOptions,
  ): Promise<Result> => this.#run((client) => this.#transact(client, 'deciding', work, options));

  readonly poolUse = (): PoolUse => this.#pool.use();

  readonly close = (): Promise<void> => this.#pool.close();

  /** Runs work on a connection, again as long as the retry policy says so (`errors.ts`). */
  async #run<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    for (let calls = 1; ; calls += 1) {
      const { tables } = this.#statements;
      try {
        return await this.#withConnection(work);
      } catch (error) {
        if (calls === MAX_CALLS || !(await this.#isWorthRepeating(error, tables))) throw error;
      }
    }
  }

  async #isWorthRepeating(error: unknown, tables: Statements['tables']): Promise<boolean> {
    switch (nextStepAfter(error)) {
      case 'repeat':
        return true;
      case 'unprepare':
        this.#statements.stopPreparing();
        return true;
      case 'find tables':
        if (tables === null && !(error instanceof TablesUnknown)) return false;
        return await this.#statements.findTables(tables);
      case 'give up':
      case 'blame the event':
        return false;
    }
  }

  async #withConnection<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      if (isOfServer(error)) void this.#pool.discard(client);
      else client.release();
      throw error;
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    const { ensureRunning } = this.#options;
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (ensureRunning === undefined) throw error;
    }
    await ensureRunning().catch((cause: unknown) => {
      throw databaseError(cause);
    });
    return await this.#pool.connect();
  }

  async #runAlone<Row extends object>(
    client: pg.PoolClient,
    statement: NamedStatement | string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    if (this.#pool.ownsSession(client)) {
      return await this.#queryOn(client, 'alone')<Row>(statement, values);
    }
    const { rows } = await this.#transact(client, 'alone', async (query, atCommit) => {
      const rows = query<Row>(statement, values);
      atCommit(rows);
      return { rows };
    });
    return await rows;
  }

  async #transact<Result>(
    client: pg.PoolClient,
    use: Use,
    work: Work<Result>,
    { timeoutMs, isolation }: TransactionOptions = {},
  ): Promise<Result> {
    const inFlight: Promise<unknown>[] = [];
    const atCommit: AtCommit = (...statements) => {
      inFlight.push(...statements);
      // Each is awaited at the end. A failure before that must not be an unhandled rejection.
      for (const statement of statements) statement.catch(() => undefined);
    };
    // Deciding and then writing requires that each statement sees everything that was committed before it began.
    const begin =
      use === 'alone' ? 'begin' : `begin isolation level ${isolation ?? 'read committed'}`;
    // Nothing waits for its response, so the first statement is sent together with it.
    const start = [
      begin,
      ...SETTINGS[use],
      ...(this.#pool.ownsSession(client) ? [] : [this.#setLocally]),
    ];
    if (timeoutMs !== undefined && timeoutMs < this.#timeouts.statement_timeout) {
      start.push(`set local statement_timeout = ${timeoutMs}`);
    }
    atCommit(...this.#begin(client, start));
    let result: Result;
    try {
      result = await work(this.#queryOn(client, use), atCommit);
      // If a statement has failed, the commit rolls back, and that statement's error is the reason.
      const committed = this.#commit(client);
      for (const end of await Promise.allSettled([...inFlight, committed])) {
        if (end.status === 'rejected') throw end.reason;
      }
    } catch (cause) {
      const ends = await Promise.allSettled(inFlight);
      const failed = ends.find((end) => end.status === 'rejected');
      const isLater = sqlState(cause) === IN_FAILED_TRANSACTION;
      const error: unknown = isLater && failed ? failed.reason : cause;
      if (!isOfServer(error)) await this.#rollBack(client, error);
      throw error;
    }
    return result;
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

  /** Sends these at once: prepared, or as one text where others use the session too. */
  #begin(client: pg.PoolClient, texts: readonly string[]): Promise<unknown>[] {
    if (!this.#pool.ownsSession(client)) {
      return [this.#send('begin', client, { text: texts.join(';\n') })];
    }
    const { stream } = client.connection;
    stream.cork();
    const sent = texts.map((text, index) =>
      // If the server had lost it, what follows would be committed statement by statement.
      this.#sendPrepared('begin', client, text, [], index === 0 ? 'unprepared' : 'deciding'),
    );
    stream.uncork();
    return sent;
  }

  /** @throws DatabaseUnavailable when it is not certain that the transaction is permanent */
  async #commit(client: pg.PoolClient): Promise<void> {
    let problem: string | undefined;
    const onNotice = (notice: { routine?: string | undefined; message?: string | undefined }) => {
      if (notice.routine === STANDBY_WAIT) problem = notice.message ?? 'no standby has it';
    };
    client.on('notice', onNotice);
    // The answers to the statements before it are read while it waits for the disk.
    this.#roundTrips.get(client)?.end();
    try {
      const { command } = await this.#sendPrepared('commit', client, 'commit');
      // PostgreSQL answers the commit of a failed transaction without an error.
      if (command !== 'COMMIT') throw new DatabaseUnavailable('the transaction was rolled back');
      // It only warns if the wait for a synchronous standby was canceled: the transaction would be lost
      // together with this server.
      if (problem !== undefined) throw new DatabaseUnavailable(problem);
    } finally {
      client.off('notice', onNotice);
    }
  }

  #queryOn(client: pg.PoolClient, use: Use): Query {
    return async <Row extends object>(
      statement: NamedStatement | string,
      values?: readonly unknown[],
    ) => {
      if (typeof statement === 'string') {
        const plain = { text: statement, types: columnValues };
        const { rows } = await this.#send<Row>('query', client, plain, values);
        return rows;
      }
      const text = this.#statements.textOf(statement.text);
      const { rows } = await this.#sendPrepared<Row>(
        statement.name,
        client,
        text,
        statement.values,
        use,
      );
      // V8 treats a result's array as long-lived, together with everything that stays in it.
      return rows.splice(0);
    };
  }

  /** Sends a single command, together with those that are sent before anything is awaited. */
  #sendPrepared<Row extends object>(
    spanName: string,
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[] = [],
    use: Use | 'unprepared' = 'deciding',
  ): Promise<Answer<Row>> {
    const name =
      use === 'unprepared' ? undefined : this.#statements.preparedNameOf(spanName, text, use);
    if (!isPipelined(client)) {
      const prepared = { ...(name !== undefined && { name }), text, types: columnValues };
      return this.#send(spanName, client, prepared, values);
    }
    return inStatementSpan(spanName, () => {
      const roundTrip = this.#roundTrips.get(client) ?? this.#openRoundTrip(client);
      return roundTrip.add<Row>({ name, text, values });
    });
  }

  #openRoundTrip(client: pg.PoolClient): RoundTrip {
    const close = () => this.#roundTrips.delete(client);
    const roundTrip = new RoundTrip(client, this.#answerTimeoutMs, close);
    this.#roundTrips.set(client, roundTrip);
    return roundTrip;
  }

  async #send<Row extends object>(
    spanName: string,
    client: pg.PoolClient,
    statement: pg.QueryConfig,
    values?: readonly unknown[],
  ): Promise<Answer<Row>> {
    this.#roundTrips.get(client)?.end();
    const start = () => client.query<Row & pg.QueryResultRow>(statement, values && [...values]);
    return await inStatementSpan(spanName, () =>
      withDeadline(this.#inOrder(client, start), this.#answerTimeoutMs),
    );
  }

  /** Starts a statement at once, or after the one before it where the app's pool does not pipeline. */
  #inOrder<Result>(client: pg.PoolClient, start: () => Promise<Result>): Promise<Result> {
    if (client.pipeline) return start();
    const last = this.#lastStatements.get(client) ?? Promise.resolve();
    const started = last.then(start, start);
    this.#lastStatements.set(client, started);
    return started;
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

/** The app's pool can have another copy of `pg`, and need not pipeline. */
const isPipelined = (client: pg.PoolClient) => client.pipeline && client instanceof pg.Client;

/** The error of each statement behind one that failed. */
const IN_FAILED_TRANSACTION = '25P02';

/** The routine of PostgreSQL that warns. The application's own triggers can also warn. */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

/** Does a part of a transaction, which alone is undone if the application refuses it. Returns whether it was done. */
export async function unlessRefused(query: Query, work: () => Promise<unknown>): Promise<boolean> {
  await query('savepoint before_part');
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof DatabaseBusy || nextStepAfter(error) !== 'blame the event') throw error;
    await query('rollback to savepoint before_part');
    return false;
  }
}

/** Writes nothing, and is refused by a standby. @throws DatabaseUnavailable if the server accepts no writes */
export async function checkWritable(query: Query): Promise<void> {
  const text = 'update instep.events set deliveries = deliveries where false';
  await query({ name: 'check_writable', text });
}
