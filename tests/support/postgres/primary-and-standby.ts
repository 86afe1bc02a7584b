import { setTimeout as sleep } from 'node:timers/promises';
import { makeAccessView } from '../internals/access.ts';
import { migrate, openDatabase, parseDatabaseUrl, recognizeTables } from '../internals/database.ts';
import { PostgresCluster } from './postgres-cluster.ts';

/** Run on the standby. Waiting for its end can conflict with the ongoing recovery. */
const PROMOTE = 'select pg_promote(wait => false)';

/** A primary with Instep's tables, and its synchronous standby. */
export async function startPair(): Promise<[primary: PostgresCluster, standby: PostgresCluster]> {
  const primary = await PostgresCluster.create();
  const standby = await PostgresCluster.create();
  await primary.start();
  const database = openDatabase({
    connection: parseDatabaseUrl(primary.url.href).connection,
    maxConnections: 1,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
  });
  await migrate(database);
  await makeAccessView(database, await recognizeTables(database.query, {}));
  await database.close();
  await join(primary, standby);
  return [primary, standby];
}

/** From now on, only commits that the standby has are acknowledged. */
export async function join(primary: PostgresCluster, standby: PostgresCluster): Promise<void> {
  await primary.ask("alter system set synchronous_standby_names = ''");
  await primary.ask('select pg_reload_conf()');
  await standby.follow(primary);
  await primary.ask("alter system set synchronous_standby_names = '*'");
  await primary.ask('select pg_reload_conf()');
  const isSynchronous = "select from pg_stat_replication where sync_state = 'sync'";
  while ((await primary.ask(isSynchronous)).length === 0) await sleep(20);
}

type Promotion = (primary: PostgresCluster, standby: PostgresCluster) => Promise<void>;

/** How long a primary that was cut off continues beside the new one. */
const OVERLAP_MS = 500;

/** The ways in which the standby takes over. */
export const PROMOTIONS: readonly Promotion[] = [
  async function shutDown(primary, standby) {
    await primary.end('SIGINT');
    await standby.ask(PROMOTE);
  },
  async function killed(primary, standby) {
    await primary.end('SIGKILL');
    await standby.ask(PROMOTE);
  },
  // Commits on the old primary are lost from now on, so it must acknowledge none.
  async function cutOff(primary, standby) {
    await standby.ask(PROMOTE);
    await sleep(OVERLAP_MS);
    await primary.end('SIGKILL');
  },
];
