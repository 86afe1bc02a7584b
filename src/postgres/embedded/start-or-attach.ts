import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareBinaries } from './binaries.ts';
import { createCluster, deleteUnfinishedClusters, hasCluster } from './cluster.ts';
import {
  PostgresFolderUnfit,
  PostgresStartFailed,
  PostgresUnreachable,
} from './embedded-postgres-errors.ts';
import { findInaccessibleFolder } from './inaccessible-folder.ts';
import { mendStaleLock, readLockHolder } from './lock-file.ts';
import type { EmbeddedPaths } from './paths.ts';
import { type Launch, launchPostmaster } from './postmaster.ts';
import {
  acquirePresenceLock,
  type PresenceLock,
  type PresenceLockAttempt,
} from './presence-lock.ts';
import { lastWords, readServerLog } from './server-log.ts';
import { userOfCluster } from './server-user.ts';
import { makeSocketFolder, SOCKET_NAME } from './socket-folder.ts';

const ATTEMPT_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

export type WaitOptions = {
  /** How long to wait for a server that is starting, recovering or stopping. */
  readonly deadlineMs: number;
  /** Whether a server will do that runs and has all of its connections taken. */
  readonly fullWillDo: boolean;
};

/**
 * Takes a seat at the place's server: at once when it runs, after waiting when it is starting,
 * recovering or stopping, and after starting it when there is none. PostgreSQL's own locks decide
 * which of several processes starts it; the others join.
 * @returns `'full'` instead when that will do
 * @throws PostgresUnreachable after the deadline
 * @throws PostgresStartFailed, and what else keeps it from starting
 */
export async function startOrAttach(
  place: EmbeddedPaths,
  patience: WaitOptions,
): Promise<PresenceLock | 'full'> {
  const timeoutMs = Math.min(ATTEMPT_TIMEOUT_MS, patience.deadlineMs);
  const attempt = await acquirePresenceLock(place.connection, timeoutMs);
  if (attempt.outcome === 'seated') return attempt.seat;
  if (attempt.outcome === 'full' && patience.fullWillDo) return 'full';
  if (attempt.outcome === 'refused') throw await unreachable(place, attempt);
  // The deadline begins after this, since the making of a cluster has one of its own.
  const start = await prepareStart(place);
  return await waitForSeat(place, patience, start);
}

/** Starts the server once; what is slow about the first time has been done by then. */
type Start = () => Promise<Launch>;

async function prepareStart(place: EmbeddedPaths): Promise<Start> {
  const { home, cluster, socketFolder, installed } = place;
  const user = await userOfCluster(cluster);
  const closed = user.isSwitched ? await findInaccessibleFolder(home, user) : undefined;
  if (closed !== undefined) {
    throw new PostgresFolderUnfit(
      `PostgreSQL runs as user id ${user.uid}, which may no longer enter ${closed}: open that ` +
        'folder to it (`chmod o+x`), or set INSTEP_DATA to another folder',
    );
  }
  const binaries = await prepareBinaries(installed, home, user);
  if (!(await hasCluster(cluster, installed.major))) await createCluster(cluster, binaries, user);
  await deleteUnfinishedClusters(home);
  return async () => {
    await makeSocketFolder(socketFolder, user);
    return await launchPostmaster(binaries.postgres, place, user);
  };
}

async function waitForSeat(
  place: EmbeddedPaths,
  { deadlineMs, fullWillDo }: WaitOptions,
  start: Start,
): Promise<PresenceLock | 'full'> {
  const giveUpAt = performance.now() + deadlineMs;
  let launch: Launch | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    const remainingMs = giveUpAt - performance.now();
    const attempt = await acquirePresenceLock(
      place.connection,
      Math.max(1, Math.min(ATTEMPT_TIMEOUT_MS, remainingMs)),
    );
    if (attempt.outcome === 'seated') return attempt.seat;
    if (attempt.outcome === 'full' && fullWillDo) return 'full';
    if (remainingMs <= 0 || attempt.outcome === 'refused') throw await unreachable(place, attempt);
    if (attempt.outcome === 'absent') launch = await advance(place, launch, start);
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** What to do while nothing answers. @returns the launch to wait for, if any */
async function advance(
  place: EmbeddedPaths,
  launch: Launch | undefined,
  start: Start,
): Promise<Launch | undefined> {
  if (launch === undefined) {
    // It has not opened its socket yet, or has closed it already: starting another would only fail.
    const holder = await readLockHolder(join(place.cluster, 'postmaster.pid'));
    return holder?.identity === 'server' ? undefined : await start();
  }
  const end = launch.end();
  if (end === undefined) return launch;
  if (end.outcome === 'failed') {
    throw new PostgresStartFailed(
      `PostgreSQL did not start:\n${lastWords(end.lines) || 'it left no message'}\n` +
        `The log is ${place.log}. Repair what it tells of (a full disk, a changed file, a wrong ` +
        'owner) and start again.',
    );
  }
  if (end.outcome === 'locked out') {
    await mendStaleLock(join(place.cluster, 'postmaster.pid'));
    await mendStaleLock(join(place.socketFolder, `${SOCKET_NAME}.lock`));
  }
  return undefined;
}

async function unreachable(
  place: EmbeddedPaths,
  attempt: Exclude<PresenceLockAttempt, { outcome: 'seated' }>,
): Promise<PostgresUnreachable> {
  const holder = await readLockHolder(join(place.cluster, 'postmaster.pid'));
  const process =
    holder?.identity === 'server' || holder?.identity === 'unknown'
      ? ` Process ${holder.pid} holds the database: if it does not go on by itself, stop it with ` +
        `\`kill -INT ${holder.pid}\` and start again.`
      : '';
  const words = lastWords((await readServerLog(place.log, 0)).slice(-3));
  return new PostgresUnreachable(
    `PostgreSQL in ${place.home} cannot be reached (${attempt.reason}).${process} ` +
      `The last lines of its log, ${place.log}:\n${words || 'none'}`,
    'cause' in attempt ? { cause: attempt.cause } : {},
  );
}
