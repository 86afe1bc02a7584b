import { spawn } from 'node:child_process';
import { PROGRAM_ENVIRONMENT, PROGRAM_FOLDER, spawnAs } from './run-program.ts';
import { openServerLog, readServerLog } from './server-log.ts';
import type { ServerUser } from './server-user.ts';
import { PORT } from './socket-folder.ts';

/** An attempt to start a server. */
export type Launch = {
  /** `undefined` while it runs, as it does for good when all is well. */
  end(): LaunchEnd | undefined;
};

export type LaunchEnd = {
  /**
   * `locked out`: another server holds the cluster, or children of one that was killed still do.
   * `ended`: it was stopped or killed. `failed`: all else.
   */
  readonly outcome: 'locked out' | 'ended' | 'failed';
  /** What it said. */
  readonly lines: readonly string[];
};

/** PostgreSQL's name for "lock file exists", on its own files and on shared memory. */
const LOCK_FILE_EXISTS = 'F0001';

/**
 * Starts a server in the background. It belongs to no terminal and to no process group of ours, so
 * that Ctrl-C does not reach it, and it outlives us when we are killed.
 */
export async function launchPostmaster(
  postgres: string,
  place: { cluster: string; socketFolder: string; log: string },
  user: ServerUser,
): Promise<Launch> {
  const { file, beginsAt } = await openServerLog(place.log, user);
  let end: LaunchEnd | undefined;
  try {
    const child = spawn(postgres, ['-D', place.cluster, ...settings(place.socketFolder)], {
      ...spawnAs(user),
      cwd: PROGRAM_FOLDER,
      env: PROGRAM_ENVIRONMENT,
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
    });
    child.once('error', (error) => {
      end = { outcome: 'failed', lines: [error.message] };
    });
    child.once('exit', (exitCode) => {
      readServerLog(place.log, beginsAt).then(
        (lines) => {
          end = { outcome: judge(exitCode, lines, child.pid), lines };
        },
        (error: Error) => {
          end = { outcome: 'failed', lines: [`its log cannot be read: ${error.message}`] };
        },
      );
    });
    child.unref();
  } finally {
    await file.close();
  }
  return { end: () => end };
}

/** Given on the command line, where no file and no ALTER SYSTEM can say otherwise. */
function settings(socketFolder: string): string[] {
  const values = {
    listen_addresses: '',
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: `${PORT}`,
    max_connections: '100',
    // A commit that was acknowledged is on the disk.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
    // The code tells us, in any language, why a start failed.
    log_line_prefix: '%m [%p] %e ',
    // What the application's statements hold is not for this log, nor is the log to grow by itself.
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    cluster_name: 'instep',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function judge(
  exitCode: number | null,
  lines: readonly string[],
  pid: number | undefined,
): LaunchEnd['outcome'] {
  if (exitCode === 0 || exitCode === null) return 'ended';
  const isLockedOut = lines.some((line) => line.includes(`[${pid}] ${LOCK_FILE_EXISTS} FATAL`));
  return isLockedOut ? 'locked out' : 'failed';
}
