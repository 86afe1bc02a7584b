export { hasDataDirectory } from './data-directory.ts';
export { EmbeddedPostgresError } from './errors.ts';

import { PostgresFolderUnfit, PostgresReleased, systemErrorCode } from './errors.ts';
import { type EmbeddedPaths, openPaths } from './paths.ts';
import { stopServer } from './postmaster.ts';
import { acquirePresenceLock, type Connection, type PresenceLock } from './presence-lock.ts';
import { startOrAttach } from './start-or-attach.ts';

/** A PostgreSQL server, shared by all processes that open the same data folder. */
export type EmbeddedPostgres = {
  /** The connection for `pg`; it never changes. */
  readonly connection: Connection;
  /**
   * Starts the server again if it has ended (killed, crashed, stopped by another process). Resolves at once
   * if it is running. Concurrent calls share one start.
   * @throws PostgresUnreachable, PostgresStartFailed, and the other errors of `errors.ts`
   */
  ensureRunning(): Promise<void>;
  /**
   * Stops PostgreSQL and waits up to 20 seconds until it has ended, unless another process uses it.
   * Close your connections first: the stop cuts them, and those of other programs.
   */
  release(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  /** Holds the database (INSTEP_DATA); an absolute path, created if it does not exist. */
  readonly dataFolder: string;
  /** Shows a message to the user, such as the location of the files. */
  readonly onNotice: (message: string) => void;
  /** How long to wait for a server that is starting, recovering or stopping. */
  readonly startDeadlineMs?: number;
};

const START_DEADLINE_MS = 30_000;
const RELEASE_TIMEOUT_MS = 2_000;

/**
 * Opens the database in `dataFolder`: creates it if there is none, attaches to its server if it is running
 * (started by another process, or left by a killed one), and starts it otherwise.
 * @throws the errors of `errors.ts`, each with what to do
 */
export async function openEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const paths = await explainErrors(openPaths(options.dataFolder, options.onNotice));
  const postgres = superviseServer(paths, options);
  await postgres.ensureRunning();
  return postgres;
}

function superviseServer(
  paths: EmbeddedPaths,
  { onNotice, startDeadlineMs = START_DEADLINE_MS }: EmbeddedPostgresOptions,
): EmbeddedPostgres {
  let presence: PresenceLock | undefined;
  let starting: Promise<void> | undefined;
  let releasing: Promise<void> | undefined;

  /**
   * Acquiring a new lock proves that the server accepts connections, whatever happened to the former lock.
   */
  async function renewPresence(): Promise<void> {
    const former = presence;
    presence = await explainErrors(startOrAttach(paths, startDeadlineMs));
    await former?.close();
  }

  async function release(): Promise<void> {
    // The callers of a failed start get its error.
    await starting?.catch(() => undefined);
    let departure = (await presence?.leave()) ?? 'lost';
    if (departure === 'lost') {
      // The server can be back after a crash, or after our last attempt to start it.
      const attempt = await acquirePresenceLock(paths.connection, RELEASE_TIMEOUT_MS);
      if (attempt.outcome !== 'acquired') return;
      presence = attempt.lock;
      departure = await presence.leave();
    }
    if (departure === 'last' && !(await stopServer(paths.cluster))) {
      onNotice(
        `PostgreSQL in ${paths.dataDirectory} has not stopped: it needs more time, or it runs in ` +
          'another container',
      );
    }
    await presence?.close();
  }

  return {
    connection: paths.connection,
    ensureRunning() {
      if (releasing !== undefined) {
        return Promise.reject(new PostgresReleased('the embedded PostgreSQL was released'));
      }
      starting ??= renewPresence().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    release() {
      releasing ??= release();
      return releasing;
    },
  };
}

/** Adds context and a remedy to the operating system's errors. */
async function explainErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof Error) || systemErrorCode(cause) === '') throw cause;
    throw new PostgresFolderUnfit(
      `can't use the data folder (${cause.message}): repair that, set INSTEP_DATA to another ` +
        'folder, or set DATABASE_URL',
      { cause },
    );
  }
}
