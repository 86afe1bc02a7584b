import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiCollection, createSubscriptionEvent, startFakeStripeApi } from 'instep/testing';
import { DatabaseBusy } from 'instep-engine/postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startLoad } from '../faults/load.ts';
import { migrate } from '../support/internals/database.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { connect } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';
const PORT = 6_432;
/** Fewer than in the server's own pool, so that transactions get changing connections. */
const POOL_SIZE = 3;
const UNPRIVILEGED_ID = 65_534;
const EVENTS = 300;

/** Old versions refuse the timeouts of a session; many installations are configured to ignore them. */
const MODES = [
  ['refuses startup parameters', ''],
  [
    'ignores startup parameters',
    'statement_timeout, lock_timeout, idle_in_transaction_session_timeout',
  ],
] as const;

describe.skipIf(!existsSync(PGBOUNCER)).each(MODES)('PgBouncer that %s', (_, ignored) => {
  let cluster: PostgresCluster;
  let folder: string;
  let pgbouncer: ChildProcess;

  beforeAll(async () => {
    cluster = await PostgresCluster.create();
    await cluster.start();
    await cluster.ask(`alter database instep set datestyle = 'German, DMY'`);
    await cluster.ask('alter database instep set array_nulls = off');
    folder = mkdtempSync(join(tmpdir(), 'instep-pgbouncer-'));
    chmodSync(folder, 0o777);
    const { username, pathname } = cluster.url;
    const settings = [
      '[databases]',
      `* = host=127.0.0.1 port=${cluster.port} dbname=${pathname.slice(1)} user=${username}`,
      '[pgbouncer]',
      'listen_addr =',
      `unix_socket_dir = ${folder}`,
      `listen_port = ${PORT}`,
      'auth_type = any',
      'pool_mode = transaction',
      `ignore_startup_parameters = ${ignored}`,
      `default_pool_size = ${POOL_SIZE}`,
    ];
    writeFileSync(join(folder, 'settings.ini'), `${settings.join('\n')}\n`);
    const isRoot = process.getuid?.() === 0;
    pgbouncer = spawn(PGBOUNCER, [join(folder, 'settings.ini')], {
      ...(isRoot && { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID }),
      stdio: 'ignore',
    });
    const socket = join(folder, `.s.PGSQL.${PORT}`);
    await vi.waitFor(() => expect(existsSync(socket)).toBe(true), { timeout: 10_000 });
  });
  afterAll(async () => {
    const exited = pgbouncer && once(pgbouncer, 'exit');
    pgbouncer?.kill('SIGQUIT');
    await exited;
    await cluster?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  test('statements also end on the server', async () => {
    const database = connect(urlOf(folder), {
      maxConnections: POOL_SIZE,
      statementTimeoutMs: 300,
    });
    const slow = { name: 'sleep', text: 'select pg_sleep($1)', values: [60] };
    const ends = await Promise.allSettled([
      database.query('select pg_sleep(60)'),
      database.query(slow),
      database.transaction((query) => query(slow)),
    ]);
    expect(ends.map((end) => end.status === 'rejected' && end.reason.constructor)).toEqual(
      ends.map(() => DatabaseBusy),
    );
    const rows = await cluster.ask(
      `select from pg_stat_activity where state = 'active' and query like 'select pg_sleep%'`,
    );
    expect(rows).toEqual([]);
    const [settings] = await cluster.ask(`select current_setting('statement_timeout') as timeout`);
    expect(settings).toEqual({ timeout: '0' });
  });

  test('statements get the settings that they need, and other clients keep theirs', async () => {
    const database = connect(urlOf(folder));
    const settings = `select current_setting('datestyle') as datestyle,
                             current_setting('array_nulls') as array_nulls`;
    const needed = [{ datestyle: 'ISO, DMY', array_nulls: 'on' }];
    expect(await database.query(settings)).toEqual(needed);
    expect(await database.transaction((query) => query(settings))).toEqual(needed);
    const other = new pg.Client({ connectionString: urlOf(folder).href });
    await other.connect();
    expect((await other.query(settings)).rows).toEqual([
      { datestyle: 'German, DMY', array_nulls: 'off' },
    ]);
    await other.end();
  });

  test('a server migrates and works through it, and nothing acknowledged is lost', async () => {
    const url = urlOf(folder);
    const database = connect(url);
    await migrate(database);
    const teamId = await addTeam(database.query, { name: 'Missed', customerId: 'cus_missed' });
    const createdSeconds = Math.floor(Date.now() / 1_000) - 60;
    const missed = JSON.parse(eventBody({ customerId: 'cus_missed', createdSeconds }));
    const api = await startFakeStripeApi({ productNames: {}, events: new ApiCollection([missed]) });
    const server = await startInstep({
      DATABASE_URL: url.href,
      STRIPE_API_BASE: api.url,
      RECONCILE_INTERVAL: '1s',
    });
    const load = await startLoad(database, { url: () => server.url });
    await vi.waitFor(() => expect(load.acknowledged).toBeGreaterThan(EVENTS), { timeout: 40_000 });
    await load.finish();
    expect(await server.logged({ msg: 'caught up' })).toMatchObject({ missed: 1 });
    await server.logged({ msg: 'reconciled', drifts: 0 });
    const team = await readTeam(database.query, teamId);
    expect(team?.plan).toMatchObject({ subscriptionStatus: 'active' });
    expect(await server.stop()).toBe(0);
    expect(await load.audit(database)).toMatchObject({ repeated: 0, lost: 0 });
    await api.close();
  });

  test('every form of a search path in the URL names the schema of the tables', async () => {
    const database = connect(urlOf(folder));
    await migrate(database);
    await database.query(`
      create schema app;
      create table app.users (like public.users including all);
      create table app.teams (like public.teams including all)`);
    const forms = { schema: 'app', currentSchema: 'app,public', search_path: 'app' };
    for (const [name, value] of Object.entries(forms)) {
      const url = urlOf(folder);
      url.searchParams.set(name, value);
      const added = await runInstep(['team', 'add', '--name', name, '--customer', `cus_${name}`], {
        DATABASE_URL: url.href,
      });
      expect(added).toMatchObject({ code: 0, stderr: '' });
    }
    const inApp = await database.query<{ name: string }>('select name from app.teams order by id');
    expect(inApp.map(({ name }) => name)).toEqual(Object.keys(forms));
    expect(await database.query(`select from public.teams where name = 'schema'`)).toEqual([]);
  });

  test('an audit reads through it, and other clients still write', async () => {
    const database = connect(urlOf(folder));
    await database.query(`
      create table organizations (stripe_customer_id, plan_name) as
      select 'cus_' || number, case when number <= 2 then 'pro' end
        from generate_series(1, 5000) as number`);
    const [one, other] = ['cus_1', 'cus_2'].map((customerId) =>
      createSubscriptionEvent({
        customerId,
        status: customerId === 'cus_1' ? 'canceled' : 'active',
      }),
    );
    const subscriptions = new ApiCollection(
      [one, other].flatMap((event) => event?.data.object ?? []),
    );
    const api = await startFakeStripeApi({ subscriptions });
    const environment = { ...SETTINGS, DATABASE_URL: urlOf(folder).href, STRIPE_API_BASE: api.url };
    const { code, stdout } = await runInstep(
      ['audit', '--json', '--table', 'organizations'],
      environment,
    );
    expect(code).toBe(3);
    expect(JSON.parse(stdout).counts).toMatchObject({ customers: 5_000, right: 4_999, ended: 1 });
    await Promise.all(
      Array.from({ length: POOL_SIZE * 2 }, () =>
        database.query(`update organizations set plan_name = 'team'`),
      ),
    );
    await database.query('drop table organizations');
    await api.close();
  });
});

function urlOf(folder: string): URL {
  return new URL(`postgres:///instep?host=${encodeURIComponent(folder)}&port=${PORT}&user=instep`);
}
