import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identifyProcess, readLockHolder } from './lock-file.ts';
import { type EmbeddedPaths, PORT } from './paths.ts';
import { spawnOptions } from './run-program.ts';
import { openServerLog, readServerLog } from './server-log.ts';
import type { ServerUser } from './server-user.ts';

/** An attempt to start a server. */
export type Launch = {
  /** Keeps the server running when this process ends. */
  keep(): void;
  /** How the server ended; `undefined` while it runs. */
  end(): LaunchEnd | undefined;
};

type LaunchEnd = {
  /**
   * `locked out`: another server has the cluster, or children of a killed one still use it.
   * `ended`: it was stopped or killed. `failed`: for another reason.
   */
  readonly outcome: 'locked out' | 'ended' | 'failed';
  /** Its output. */
  readonly lines: readonly string[];
};

/** PostgreSQL's code for "lock file exists", on its own files and on shared memory. */
const LOCK_FILE_EXISTS = 'F0001';

const STOP_DEADLINE_MS = 20_000;
const STOP_PAUSE_MS = 10;

/**
 * Runs a program, and stops it if standard input is closed before a line arrives, so that a process that ends
 * while it is starting a server leaves none behind.
 */
const RUN_WHILE_STARTING = `
  exec 3<&0
  ( (read -r _ <&3 || kill -INT $$) & )
  exec "$@" 3<&- </dev/null`;

/**
 * Starts a server in the background. It has a session and a process group of its own: Ctrl-C does
 * not reach it, and other processes can use it after this one.
 */
export async function launchPostmaster(
  postgres: string,
  { cluster, log, connection }: EmbeddedPaths,
  user: ServerUser,
): Promise<Launch> {
  const { file, beginsAt } = await openServerLog(log, user);
  let end: LaunchEnd | undefined;
  let keep = () => {};
  const fail = (line: string) => {
    end = { outcome: 'failed', lines: [line] };
  };
  try {
    const command = [postgres, '-D', cluster, ...settings(connection.host)];
    const child = spawn('/bin/sh', ['-c', RUN_WHILE_STARTING, 'sh', ...command], {
      ...spawnOptions(user),
      detached: true,
      stdio: ['pipe', file.fd, file.fd],
    });
    keep = () => child.stdin?.end('\n');
    // A server that has ended has closed this pipe.
    child.stdin?.on('error', () => undefined);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (exitCode) => {
      readServerLog(log, beginsAt).then(
        (lines) => {
          end = { outcome: outcomeOf(exitCode, lines, child.pid), lines };
        },
        (error: Error) => fail(`can't read its log: ${error.message}`),
      );
    });
    child.unref();
  } finally {
    await file.close();
  }
  return { keep: () => keep(), end: () => end };
}

/** Settings for the command line, which neither a file nor ALTER SYSTEM can override. */
function settings(socketDirectory: string): string[] {
  const values = {
    listen_addresses: '',
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: `${PORT}`,
    max_connections: '100',
    // An acknowledged commit is on disk.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    log_destination: 'stderr',
    logging_collector: 'off',
    // The error code says why a start failed, in any language.
    log_line_prefix: '%m [%p] %e ',
    // The data of the app's statements must not be in this log, and it must not grow by itself.
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function outcomeOf(
  exitCode: number | null,
  lines: readonly string[],
  pid: number | undefined,
): LaunchEnd['outcome'] {
  if (exitCode === 0 || exitCode === null) return 'ended';
  const isLockedOut = lines.some((line) => line.includes(`[${pid}] ${LOCK_FILE_EXISTS} FATAL`));
  return isLockedOut ? 'locked out' : 'failed';
}

/**
 * Stops the cluster's server: open transactions are rolled back, everything is written, and it ends.
 * A process that can't be identified as the server (in another container, for example) is left
 * alone.
 * @returns whether it has ended; after 20 seconds it continues by itself
 */
export async function stopServer(cluster: string): Promise<boolean> {
  const holder = await readLockHolder(join(cluster, 'postmaster.pid'));
  if (holder === undefined) return true;
  if (holder.identity !== 'server') return false;
  // PostgreSQL calls this a fast shutdown.
  process.kill(holder.pid, 'SIGINT');
  const giveUpAt = performance.now() + STOP_DEADLINE_MS;
  while (performance.now() < giveUpAt) {
    await sleep(STOP_PAUSE_MS);
    // The server deletes its lock file shortly before it ends.
    if ((await identifyProcess(holder.pid, holder.cluster)) !== 'server') return true;
  }
  return false;
}
