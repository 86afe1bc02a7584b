import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../src/postgres/migrate.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';

/** Run on the standby. Waiting for its end can conflict with the recovery that goes on. */
export const PROMOTE = 'select pg_promote(wait => false)';

/** A primary with Instep's tables, and its synchronous standby. */
export async function startPair(): Promise<[primary: PostgresCluster, standby: PostgresCluster]> {
  const primary = await PostgresCluster.create();
  const standby = await PostgresCluster.create();
  await primary.start();
  const database = connect(primary.url);
  await migrate(database);
  await database.close();
  await join(primary, standby);
  return [primary, standby];
}

/** The value of `DATABASE_URL` that lists both servers. */
export function urlOfBoth(first: PostgresCluster, second: PostgresCluster): string {
  const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`).join(',');
  const { username, pathname } = first.url;
  return `postgres://${username}@${hosts}${pathname}?target_session_attrs=read-write`;
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
