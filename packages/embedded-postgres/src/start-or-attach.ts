import { lchown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareBinaries } from './binaries.ts';
import { createCluster, hasCluster } from './cluster.ts';
import { findInaccessible } from './data-directory.ts';
import { PostgresFolderUnfit, PostgresStartFailed, PostgresUnreachable } from './errors.ts';
import { readLockHolder, repairStaleLock } from './lock-file.ts';
import { type EmbeddedPaths, SOCKET_NAME } from './paths.ts';
import { type Launch, launchPostmaster } from './postmaster.ts';
import {
  acquirePresenceLock,
  type PresenceLock,
  type PresenceLockAttempt,
} from './presence-lock.ts';
import { lastLines, readServerLog } from './server-log.ts';
import { userOfCluster } from './server-user.ts';
import { startStopGuard } from './stop-guard.ts';

const ATTEMPT_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/**
 * Acquires the presence lock: at once when the server runs, after waiting when it is starting,
 * recovering or stopping, and after starting it when there is none. PostgreSQL's own locks decide
 * which of several processes starts it; the others attach.
 * @throws PostgresUnreachable after the deadline
 * @throws PostgresStartFailed, and the other errors of a failed start
 */
export async function startOrAttach(
  paths: EmbeddedPaths,
  deadlineMs: number,
): Promise<PresenceLock> {
  let giveUpAt = performance.now() + deadlineMs;
  let start: Start | undefined;
  let launch: Launch | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    const remainingMs = giveUpAt - performance.now();
    const timeoutMs = Math.max(1, Math.min(ATTEMPT_TIMEOUT_MS, remainingMs));
    const attempt = await acquirePresenceLock(paths.connection, timeoutMs);
    if (attempt.outcome === 'acquired') {
      await startStopGuard(paths.connection);
      launch?.keep();
      return attempt.lock;
    }
    if (remainingMs <= 0 || attempt.outcome === 'refused') throw await unreachable(paths, attempt);
    if (start === undefined) {
      start = await prepareStart(paths);
      // Set only now, because the creation of a cluster has a deadline of its own.
      giveUpAt = performance.now() + deadlineMs;
    } else {
      if (attempt.outcome === 'absent') launch = await relaunch(paths, launch, start);
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
    }
  }
}

/** Starts the server. Everything that is slow the first time has been done before. */
type Start = () => Promise<Launch>;

async function prepareStart(paths: EmbeddedPaths): Promise<Start> {
  const { dataDirectory, cluster, connection, installed } = paths;
  const user = await userOfCluster(cluster);
  const inaccessible = user.isSwitched ? await findInaccessible(dataDirectory, user) : undefined;
  if (inaccessible !== undefined) {
    throw new PostgresFolderUnfit(
      `PostgreSQL runs as user id ${user.uid}, which can't enter ${inaccessible} any more: open ` +
        'that folder (`chmod o+x`), or set INSTEP_DATA to another folder',
    );
  }
  const binaries = await prepareBinaries(installed, dataDirectory, user);
  if (!(await hasCluster(cluster, installed.major))) await createCluster(cluster, binaries, user);
  return async () => {
    await mkdir(connection.host, { mode: 0o700, recursive: true });
    if (user.isSwitched) await lchown(connection.host, user.uid, user.gid);
    return await launchPostmaster(binaries.postgres, paths, user);
  };
}

/** Starts the server unless one is starting or stopping. @returns the launch to wait for, if any */
async function relaunch(
  paths: EmbeddedPaths,
  launch: Launch | undefined,
  start: Start,
): Promise<Launch | undefined> {
  const lockFile = join(paths.cluster, 'postmaster.pid');
  if (launch === undefined) {
    // A running server has not opened its socket yet, or has closed it, so another server would fail.
    const holder = await readLockHolder(lockFile);
    return holder?.identity === 'server' ? undefined : await start();
  }
  const end = launch.end();
  if (end === undefined) return launch;
  if (end.outcome === 'failed') {
    throw new PostgresStartFailed(
      `PostgreSQL did not start:\n${lastLines(end.lines) || 'it left no message'}\n` +
        `The log is ${paths.log}. Repair the cause (a full disk, a changed file, a wrong owner) ` +
        'and start again.',
    );
  }
  if (end.outcome === 'locked out') {
    await repairStaleLock(lockFile);
    await repairStaleLock(join(paths.connection.host, `${SOCKET_NAME}.lock`));
  }
  return undefined;
}

async function unreachable(
  { cluster, dataDirectory, log }: EmbeddedPaths,
  attempt: Exclude<PresenceLockAttempt, { outcome: 'acquired' }>,
): Promise<PostgresUnreachable> {
  const holder = await readLockHolder(join(cluster, 'postmaster.pid'));
  const process =
    holder?.identity === 'server' || holder?.identity === 'unknown'
      ? ` Process ${holder.pid} holds the database: if it stays like this, stop it with ` +
        `\`kill -INT ${holder.pid}\` and start again.`
      : '';
  const lines = lastLines((await readServerLog(log, 0)).slice(-3));
  return new PostgresUnreachable(
    `can't reach PostgreSQL in ${dataDirectory} (${attempt.reason}).${process} ` +
      `The last lines of its log, ${log}:\n${lines || 'none'}`,
    'cause' in attempt ? { cause: attempt.cause } : {},
  );
}
