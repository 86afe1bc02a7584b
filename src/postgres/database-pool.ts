// The public types reach these, so none of them is a type of `pg`: an app can lack `@types/pg`.

/** A pool of `pg`: `new pg.Pool(…)`. It stays open when Instep closes. */
export type DatabasePool = {
  connect(): Promise<unknown>;
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
};

/** Where `pg` finds a server. */
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

/** The number of connections, of idle ones among them, and of callers that wait for one. */
export type PoolUse = {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
};
