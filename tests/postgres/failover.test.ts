import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable } from 'instep-engine/postgres';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { startProxy } from '../support/network/tcp-proxy.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';

const cluster = await PostgresCluster.create();
afterAll(() => cluster.remove());
await cluster.start();
await cluster.ask('create table notes (text text)');

const connectTo = (url: string) =>
  connect(new URL(url), { maxConnections: 5, statementTimeoutMs: 1_000 });

/** Simulates a demoted server, including for open connections. */
async function become(setting: string): Promise<void> {
  await cluster.ask(`alter system set ${setting}`);
  await cluster.ask('select pg_reload_conf()');
}

const write = (database: Database) => database.query("insert into notes values ('a note')");

test('only one of several connections that became read-only fails, and none is handed out again', async () => {
  const database = connectTo(cluster.url.href);
  const poison = 'set session characteristics as transaction read only; select pg_sleep(0.1)';
  await Promise.all(Array.from({ length: 5 }, () => database.query(poison)));
  await expect(write(database)).rejects.toThrow(DatabaseUnavailable);
  for (let count = 0; count < 10; count += 1) await write(database);
});

test('a read-only server is not used', async () => {
  await become('default_transaction_read_only = on');
  const database = connectTo(cluster.url.href);
  await expect(write(database)).rejects.toThrow(/read-only \(a standby\?\)/);
  await become('default_transaction_read_only = off');
  await write(database);
});

test('after one connection hung, the others are not tried', async () => {
  const proxy = await startProxy(cluster.url);
  const database = connectTo(proxy.url.href);
  await Promise.all(Array.from({ length: 5 }, () => database.query('select pg_sleep(0.1)')));
  await proxy.become('swallow');
  await proxy.become('forward');
  await expect(write(database)).rejects.toThrow(DatabaseUnavailable);
  for (let count = 0; count < 5; count += 1) await write(database);
  await proxy.close();
});

test('an old connection that fails late does not affect new ones', async () => {
  const database = connectTo(cluster.url.href);
  const failAfter = (work: () => Promise<unknown>) =>
    database.transaction(async (query) => {
      await query('select 1');
      await work();
      await query('select pg_terminate_backend(pg_backend_pid())');
    });
  const gate = new EventEmitter();
  const late = failAfter(() => {
    gate.emit('open');
    return once(gate, 'fail');
  });
  const failsLate = expect(late).rejects.toThrow(DatabaseUnavailable);
  await once(gate, 'open');
  await expect(failAfter(async () => undefined)).rejects.toThrow(DatabaseUnavailable);
  const pid = () => database.query('select pg_backend_pid() as pid');
  const fresh = await pid();
  gate.emit('fail');
  await failsLate;
  expect(await pid()).toEqual(fresh);
});

describe('while no synchronous standby answers', () => {
  const waiting = "wait_event = 'SyncRep'";
  beforeEach(() => become("synchronous_standby_names = 'nobody'"));
  afterEach(() => become("synchronous_standby_names = ''"));

  test('a commit is given up in time', async () => {
    const database = connectTo(cluster.url.href);
    const commit = database.transaction((query) => query("insert into notes values ('alone')"));
    await expect(commit).rejects.toThrow(DatabaseUnavailable);
  });

  test.each(['notice', 'error'])(
    'a commit whose wait was canceled counts as failed, with client_min_messages = %s',
    async (level) => {
      const url = new URL(cluster.url);
      url.searchParams.set('options', `-c client_min_messages=${level}`);
      const database = connectTo(url.href);
      const commit = database.transaction((query) => query("insert into notes values ('alone')"));
      // Handles the rejection before the test awaits it.
      const outcome = commit.then(
        () => 'committed',
        (error: Error) => error.message,
      );
      const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where ${waiting}`;
      while ((await cluster.ask(cancel)).length === 0) await sleep(10);
      expect(await outcome).toMatch(/synchronous replication/);
    },
  );
});

test("a warning of an application's trigger at a commit does not make the commit fail", async () => {
  await cluster.ask(`
    create table talked (text text);
    create function talk() returns trigger language plpgsql as $$
      begin raise notice 'by the way'; raise warning 'mind this'; return null; end$$;
    create constraint trigger talk after insert on talked
      deferrable initially deferred for each row execute function talk()`);
  const database = connectTo(cluster.url.href);
  await database.transaction((query) => query("insert into talked values ('once')"));
  expect(await cluster.ask('select from talked')).toHaveLength(1);
});
