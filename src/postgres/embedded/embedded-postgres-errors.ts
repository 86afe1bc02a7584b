import { InstepError } from '../../runtime/errors.ts';

/** There are no PostgreSQL programs that run on this machine. */
export class PostgresMissing extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_MISSING';
}

/** The data folder, or a folder that PostgreSQL needs besides, cannot be used as it is. */
export class PostgresFolderUnfit extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_FOLDER_UNFIT';
}

/** The data folder was made by another major version of PostgreSQL, whose files differ. */
export class PostgresVersionDiffers extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_VERSION_DIFFERS';
}

/** PostgreSQL, or the making of its cluster, ended with an error; the message has its last words. */
export class PostgresStartFailed extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_START_FAILED';
}

/** PostgreSQL is there, or should be, but took no connection within the time given. */
export class PostgresUnreachable extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_UNREACHABLE';
}

/** The embedded PostgreSQL was asked for after its `release()`. */
export class PostgresReleased extends InstepError {
  readonly code = 'EMBEDDED_POSTGRES_RELEASED';
}
