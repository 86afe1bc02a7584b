import type pg from 'pg';
import { withDeadline } from '../runtime/deadline.ts';
import { inSpan } from '../runtime/tracing.ts';
import type { DatabasePool, PoolUse, ServerConnection } from './database-pool.ts';
import {
  DatabaseUnavailable,
  databaseError,
  isOfOneEvent,
  remedyFor,
  TablesUnknown,
} from './errors.ts';
import { Pools } from './pools.ts';
import { columnValues, SESSION_SETTINGS, setStatements } from './session-settings.ts';
import { type NamedStatement, type Query, Statements } from './statement.ts';
import type { DeclaredTables } from './tables/application-tables.ts';
import { findApplicationTables } from './tables/find-tables.ts';

export type { Query } from './statement.ts';

/** Adds statements that only the commit depends on. They are sent together with it. */
export type AtCommit = (...statements: Promise<unknown>[]) => void;

export type Work<Result> = (query: Query, atCommit: AtCommit) => Promise<Result>;

type TransactionOptions = {
  /** After this time, PostgreSQL ends a statement, or its wait for a lock; that of all statements by default. */
  readonly timeoutMs?: number | undefined;
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
  /** One for each server that can be the primary: the one that accepts writes. */
  readonly connections: readonly ServerConnection[];
  /** The app's own pool, used instead of connections of ours. */
  readonly existing?: DatabasePool | undefined;
  readonly maxConnections: number;
  /** After this time, a statement and its connection are given up. */
  readonly statementTimeoutMs: number;
  /** Starts the embedded server again when no connection could be made. The work is then retried once. */
  readonly ensureRunning?: () => Promise<void>;
  readonly onConnectionError: (error: Error) => void;
  /** The application's tables and columns whose names Instep can't recognize. */
  readonly tables?: DeclaredTables;
  /** The schemas of the search path; by default, that of the role or the database. */
  readonly searchPath?: readonly string[] | null;
};

/** At least one of several conflicting transactions succeeds, so a few attempts are enough. */
const MAX_CALLS = 5;

/** The server's own timeout comes first. This one is for a server that does not answer at all. */
const ANSWER_MARGIN_MS = 500;

/** Opens a pool of connections. Nothing is connected before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs } = options;
  const statements = new Statements(() => findApplicationTables(queryNow, options.tables ?? {}));
  const { searchPath } = options;
  const settings = { ...SESSION_SETTINGS, ...(searchPath && { search_path: searchPath }) };
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
  };
  const pools = new Pools({
    connections: options.connections,
    existing: options.existing,
    onConnectionError: options.onConnectionError,
    timeouts,
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

  function send<Result>(name: string, start: () => Promise<Result>): Promise<Result> {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    return inSpan(name, { kind: 'CLIENT', attributes }, () =>
      withDeadline(start(), statementTimeoutMs + ANSWER_MARGIN_MS),
    );
  }

  const lastStatements = new WeakMap<pg.PoolClient, Promise<unknown>>();

  /** Starts a statement at once, or after the one before it where the app's pool does not pipeline. */
  function inOrder<Result>(client: pg.PoolClient, start: () => Promise<Result>): Promise<Result> {
    if (client.pipeline) return start();
    const started = (lastStatements.get(client) ?? Promise.resolve()).then(start, start);
    lastStatements.set(client, started);
    return started;
  }

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pools.connect();
    } catch (error) {
      if (options.ensureRunning === undefined) throw databaseError(error);
    }
    try {
      await options.ensureRunning();
      return await pools.connect();
    } catch (error) {
      throw databaseError(error);
    }
  }

  async function withConnection<Result>(
    work: (client: pg.PoolClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (cause) {
      const error = databaseError(cause);
      if (isOfOneEvent(error)) client.release();
      else void pools.discard(client);
      throw error;
    }
  }

  function queryOn(client: pg.PoolClient): Query {
    return <Row extends object>(
      statement: NamedStatement | string,
      values?: readonly unknown[],
    ) => {
      if (typeof statement === 'string') {
        return send('query', async () => {
          const plain = { text: statement, types: columnValues };
          const copy = values && [...values];
          return (await inOrder(client, () => client.query<Row & pg.QueryResultRow>(plain, copy)))
            .rows;
        });
      }
      return send(statement.name, async () => {
        const { values = [], isNeeded } = statement;
        const text = statements.textOf(statement.text);
        if (text === null) throw new TablesUnknown("the app's tables are not known yet");
        if (isNeeded && statements.tables && !isNeeded(statements.tables)) return [];
        const name = statements.preparedNameOf(statement.name, text);
        const prepared = { name, text, values: [...values], types: columnValues };
        const { rows } = await inOrder(client, () =>
          client.query<Row & pg.QueryResultRow>(prepared),
        );
        // V8 treats a result's array as long-lived, together with everything that stays in it.
        return rows.splice(0);
      });
    };
  }

  // Deciding and then writing requires that each statement sees everything that was committed before it
  // began. Plans are made once, for any number of values, and use indexes, because a table that was small can
  // have grown.
  const beginDeciding = `
    begin isolation level read committed;
    set local plan_cache_mode = force_generic_plan;
    set local enable_seqscan = off`;
  // A pooler shares the session among many clients, so only `set local` is safe there.
  const setLocally = setStatements('set local', { ...timeouts, ...settings });

  async function transact<Result>(
    client: pg.PoolClient,
    begin: string,
    work: Work<Result>,
    timeoutMs?: number,
  ): Promise<Result> {
    const inFlight: Promise<unknown>[] = [];
    const atCommit: AtCommit = (...statements) => {
      inFlight.push(...statements);
      // Each is awaited at the end. A failure before that must not be an unhandled rejection.
      for (const statement of statements) statement.catch(() => undefined);
    };
    // Nothing waits for its response, so the first statement is sent together with it.
    const start = [begin, ...(pools.isOurs(client) ? [] : [setLocally])];
    for (const name of ['statement_timeout', 'lock_timeout'] as const) {
      const isShorter = timeoutMs !== undefined && timeoutMs < timeouts[name];
      if (isShorter) start.push(`set local ${name} = ${timeoutMs}`);
    }
    atCommit(send('begin', () => inOrder(client, () => client.query(start.join(';\n')))));
    let result: Result;
    try {
      result = await work(queryOn(client), atCommit);
    } catch (cause) {
      await Promise.allSettled(inFlight);
      const error = databaseError(cause);
      if (isOfOneEvent(error)) {
        await send('rollback', () => inOrder(client, () => client.query('rollback')));
      }
      throw error;
    }
    // If a statement has failed, the commit rolls back, and that statement's error is the reason.
    const committed = send('commit', () => inOrder(client, () => commit(client)));
    for (const end of await Promise.allSettled([...inFlight, committed])) {
      if (end.status === 'rejected') throw end.reason;
    }
    return result;
  }

  async function runAlone<Row extends object>(
    client: pg.PoolClient,
    statement: NamedStatement | string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    if (pools.isOurs(client)) return await queryOn(client)<Row>(statement, values);
    const { rows } = await transact(client, 'begin', async (query, atCommit) => {
      const rows = query<Row>(statement, values);
      atCommit(rows);
      return { rows };
    });
    return await rows;
  }

  const queryNow: Query = (statement, values) =>
    withConnection((client) => runAlone(client, statement, values));

  /** Runs work on a connection, again as long as the retry policy says so (`errors.ts`). */
  async function run<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    for (let calls = 1; ; calls += 1) {
      const { tables } = statements;
      try {
        return await withConnection(work);
      } catch (error) {
        if (calls === MAX_CALLS || !(await isWorthRepeating(error, tables))) throw error;
      }
    }
  }

  async function isWorthRepeating(error: unknown, tables: Statements['tables']): Promise<boolean> {
    switch (remedyFor(error)) {
      case 'repeat':
        return true;
      case 'unprepare':
        statements.stopPreparing();
        return true;
      case 'find tables':
        if (tables === null && !(error instanceof TablesUnknown)) return false;
        return await statements.findTables(tables);
      case 'give up':
      case 'blame the event':
        return false;
    }
  }

  return {
    query: (statement, values) => run((client) => runAlone(client, statement, values)),
    transaction: (work, { timeoutMs } = {}) =>
      run((client) => transact(client, beginDeciding, work, timeoutMs)),
    poolUse: () => pools.use(),
    close: () => pools.close(),
  };
}

/**
 * @throws DatabaseUnavailable when it is not certain that the transaction is permanent
 */
async function commit(client: pg.PoolClient): Promise<void> {
  let problem: string | undefined;
  const onNotice = (notice: {
    readonly routine?: string | undefined;
    readonly message?: string | undefined;
  }) => {
    if (notice.routine === STANDBY_WAIT) problem = notice.message ?? 'no standby has it';
  };
  client.on('notice', onNotice);
  try {
    const { command } = await client.query('commit');
    // PostgreSQL answers the commit of a failed transaction without an error.
    if (command !== 'COMMIT') throw new DatabaseUnavailable('the transaction was rolled back');
    // It only warns if the wait for a synchronous standby was canceled: the transaction would be lost
    // together with this server.
    if (problem !== undefined) throw new DatabaseUnavailable(problem);
  } finally {
    client.off('notice', onNotice);
  }
}

/** The routine of PostgreSQL that warns. The application's own triggers can also warn. */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

/**
 * Commits an empty record to the write-ahead log, which waits for the disk and for a synchronous standby like
 * an event does. It takes no lock and leaves no row.
 */
export async function commitNothing(database: Database): Promise<void> {
  await database.transaction((query) =>
    query({
      name: 'commit_nothing',
      text: `select pg_logical_emit_message(true, 'instep', '')`,
    }),
  );
}
