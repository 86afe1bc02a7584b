// How to connect. None of these types is one of `pg`, because they are public: an app can lack `@types/pg`.

/** A pool of `pg`: `new pg.Pool(…)`. It stays open when Instep closes. */
export type DatabasePool = {
  connect(): Promise<unknown>;
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
};

/** The address of a server, for `pg`. What is `undefined` comes from PostgreSQL's own variables, such as PGUSER. */
export type ServerConnection = {
  /** A name, an address, or the directory of a socket. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly user: string | undefined;
  readonly password?: string | undefined;
  readonly database: string | undefined;
  readonly ssl?: false | TlsOptions | undefined;
  readonly options?: string | undefined;
};

/** How to verify the server, and the client's own certificate: the contents of PEM files. */
type TlsOptions = {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly rejectUnauthorized?: boolean;
};

/** The number of connections, of those that are idle, and of callers waiting for one. */
export type PoolUse = {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
};

/** Where a database is. */
export type DatabasePlace = {
  /** The server, or the app's own pool, whose size and settings are the app's. */
  readonly connection: ServerConnection | DatabasePool;
  /** Starts the embedded server again when no connection could be made. The work is then retried once. */
  readonly ensureRunning?: () => Promise<void>;
  /** The schemas of the search path; by default, that of the role or the database. */
  readonly searchPath?: readonly string[] | null;
};

export type PoolOptions = {
  readonly maxConnections: number;
  /** After this time, a statement and its connection are given up. */
  readonly statementTimeoutMs: number;
  /** Whether every transaction is read-only, so that a standby is as good as its primary; not by default. */
  readonly isReadOnly?: boolean;
  readonly onConnectionError: (error: Error) => void;
};
