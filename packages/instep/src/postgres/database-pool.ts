// These are part of the public types, so none of them is a type of `pg`: an app can lack `@types/pg`.

/** A pool of `pg`: `new pg.Pool(…)`. It stays open when Instep closes. */
export type DatabasePool = {
  connect(): Promise<unknown>;
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
};

/** The address of a server, for `pg`. */
export type ServerConnection =
  | { readonly connectionString: string }
  | {
      /** A name, an address, or the directory of a socket. */
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly database: string;
      readonly ssl?: false;
    };

/** The number of connections, of those that are idle, and of callers waiting for one. */
export type PoolUse = {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
};
