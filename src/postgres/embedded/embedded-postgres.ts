import { PostgresFolderUnfit, PostgresReleased } from './embedded-postgres-errors.ts';
import { type EmbeddedPaths, openPaths } from './paths.ts';
import { acquirePresenceLock, type Connection, type PresenceLock } from './presence-lock.ts';
import { startOrAttach } from './start-or-attach.ts';
import { stopServer } from './stop-server.ts';
import { systemErrorCode } from './system-error-code.ts';

/** A PostgreSQL of our own, which all processes share that open the same data folder. */
export type EmbeddedPostgres = {
  /** What `pg` connects with; it stays the same. */
  readonly connection: Connection;
  /**
   * Makes the server run again when it is gone (killed, crashed, stopped by another process); at
   * once when it runs. One start at a time: calls meanwhile wait for the same one.
   * @throws PostgresUnreachable, PostgresStartFailed, and the other errors of
   * `embedded-postgres-errors.ts`
   */
  ensureRunning(): Promise<void>;
  /**
   * Leaves: stops PostgreSQL and waits until it has ended (20 s at most, then a notice says so),
   * unless another process has it open as well. Close your connections first: the stop cuts them,
   * and those of programs that connected by themselves.
   */
  release(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  /** Where the database lives (INSTEP_DATA); made when it is not there. */
  readonly dataFolder: string;
  /** Hears what a person should know, such as where the files went. */
  readonly notice: (message: string) => void;
  /** How long to wait for a server that is starting, recovering or stopping. */
  readonly startDeadlineMs?: number;
};

const START_DEADLINE_MS = 30_000;
const RELEASE_TIMEOUT_MS = 2_000;

/**
 * Opens the database in `dataFolder`: makes it when there is none, joins its server when that
 * runs (another process's, or what a killed one left), and starts it otherwise.
 * @throws the errors of `embedded-postgres-errors.ts`, each with what to do
 */
export async function openEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const place = await explained(openPaths(options.dataFolder, options.notice));
  const postgres = superviseServer(place, options);
  await postgres.ensureRunning();
  return postgres;
}

function superviseServer(place: EmbeddedPaths, options: EmbeddedPostgresOptions): EmbeddedPostgres {
  const deadlineMs = options.startDeadlineMs ?? START_DEADLINE_MS;
  let seat: PresenceLock | undefined;
  let starting: Promise<void> | undefined;
  let releasing: Promise<void> | undefined;

  /** A new seat proves that the server takes connections, whatever became of the former one. */
  async function renewSeat(): Promise<void> {
    const former = seat;
    const taken = await explained(
      startOrAttach(place, { deadlineMs, fullWillDo: former !== undefined }),
    );
    if (taken === 'full') return;
    seat = taken;
    await former?.close();
  }

  async function leave(): Promise<void> {
    // A start that fails has told its own callers.
    await starting?.catch(() => undefined);
    let leaving = (await seat?.leave()) ?? 'lost';
    if (leaving === 'lost') {
      // The server may be there again, started anew by itself or by our last attempt.
      const attempt = await acquirePresenceLock(place.connection, RELEASE_TIMEOUT_MS);
      if (attempt.outcome !== 'seated') return;
      seat = attempt.seat;
      leaving = await seat.leave();
    }
    if (leaving === 'last') await stop();
    await seat?.close();
  }

  async function stop(): Promise<void> {
    const outcome = await stopServer(place.cluster);
    if (outcome === 'stopping') {
      options.notice(`PostgreSQL in ${place.home} takes long to stop; it goes on by itself`);
    } else if (outcome === 'not found') {
      options.notice(
        `PostgreSQL in ${place.home} was not stopped: its process is not to be found here (was it ` +
          'started in another container?)',
      );
    }
  }

  return {
    connection: place.connection,
    ensureRunning() {
      if (releasing !== undefined) {
        return Promise.reject(new PostgresReleased('the embedded PostgreSQL was released'));
      }
      starting ??= renewSeat().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    release() {
      releasing ??= leave();
      return releasing;
    },
  };
}

/** Gives what the system says of a file or folder a name and a way out. */
async function explained<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof Error) || systemErrorCode(cause) === '') throw cause;
    throw new PostgresFolderUnfit(
      `the data folder cannot be used (${cause.message}): repair that, set INSTEP_DATA to another ` +
        'folder, or set DATABASE_URL',
      { cause },
    );
  }
}
