/** The base of every error of this package. `code` is stable, and the message says what to do. */
export abstract class EmbeddedPostgresError extends Error {
  abstract readonly code: `EMBEDDED_POSTGRES_${string}`;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No PostgreSQL programs run on this machine. */
export class PostgresMissing extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_MISSING';
}

/** The data directory, or another directory that PostgreSQL needs, can't be used as it is. */
export class PostgresFolderUnfit extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_FOLDER_UNFIT';
}

/** The database was created by another major version of PostgreSQL, whose files differ. */
export class PostgresVersionDiffers extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_VERSION_DIFFERS';
}

/** PostgreSQL, or the creation of its cluster, failed; the message has the end of its output. */
export class PostgresStartFailed extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_START_FAILED';
}

/** PostgreSQL is running, or should be, but accepted no connection before the deadline. */
export class PostgresUnreachable extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_UNREACHABLE';
}

/** The embedded PostgreSQL was used after its `release()`. */
export class PostgresReleased extends EmbeddedPostgresError {
  readonly code = 'EMBEDDED_POSTGRES_RELEASED';
}

/** The operating system's code of an error (`ENOENT`, `EACCES`, …); empty when it has none. */
export function systemErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : '';
}

/** The result, or `undefined` when the file or directory does not exist. */
export async function ifExists<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
