// The interface of the package instep-embedded-postgres, which is optional, and its errors as ours. connect.ts opens
// the database, the doctor looks at its files.

import type { ServerConnection } from 'instep-engine/postgres';
import { CodedError, codeOf } from 'instep-engine/runtime';
import { importOptional } from '../runtime/packages.ts';

/** The embedded PostgreSQL is not installed, or can't be used; the message says what to do. */
class EmbeddedPostgresFailed extends CodedError<string> {}

/** A PostgreSQL server that all processes with the same data folder share. */
export type EmbeddedPostgres = {
  readonly connection: ServerConnection;
  /** Starts the server again if it has ended. */
  ensureRunning(): Promise<void>;
  /** Stops the server, unless another process uses it. */
  release(): Promise<void>;
};

/** What the package `instep-embedded-postgres` exports. */
type EmbeddedPostgresPackage = {
  openEmbeddedPostgres(options: {
    readonly dataFolder: string;
    readonly onNotice: (message: string) => void;
  }): Promise<EmbeddedPostgres>;
  /** Whether a database was ever created in this data folder. */
  hasDataDirectory(dataFolder: string): Promise<boolean>;
};

/** @throws EmbeddedPostgresFailed when the package is not installed */
export async function importEmbeddedPostgres(): Promise<EmbeddedPostgresPackage> {
  const found = await importOptional<EmbeddedPostgresPackage>('instep-embedded-postgres');
  if (found !== null) return found;
  throw new EmbeddedPostgresFailed(
    'EMBEDDED_POSTGRES_MISSING',
    'the package instep-embedded-postgres is not installed: run `npm install instep-embedded-postgres`, ' +
      'or set DATABASE_URL to use a PostgreSQL of your own',
  );
}

/** Opens the embedded database. @throws EmbeddedPostgresFailed, also from `ensureRunning` */
export async function openEmbeddedPostgres(
  dataFolder: string,
  onNotice: (message: string) => void,
): Promise<EmbeddedPostgres> {
  const { openEmbeddedPostgres: open } = await importEmbeddedPostgres();
  const opened = await ours(open({ dataFolder, onNotice }));
  return {
    connection: opened.connection,
    ensureRunning: () => ours(opened.ensureRunning()),
    release: () => opened.release(),
  };
}

/** Makes the package's errors our own. */
async function ours<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    const code = codeOf(cause);
    if (!code?.startsWith('EMBEDDED_POSTGRES_') || !(cause instanceof Error)) throw cause;
    throw new EmbeddedPostgresFailed(code, cause.message, { cause });
  }
}
