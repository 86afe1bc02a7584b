import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import {
  DatabaseBusy,
  DatabaseConflict,
  DatabaseRefused,
  DatabaseUnavailable,
  DatabaseUnusable,
  databaseError,
} from 'instep-engine/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

const TABLES = `
  create table notes (text varchar(4) not null unique check (text <> 'bad'));
  insert into notes values ('once');
  create view short_notes as select * from notes where length(text) < 3 with check option;
  create table long_keys (key text primary key);`;

/** PostgreSQL's own errors that a statement can cause. */
const REAL = [
  [DatabaseRefused, '21000', 'select (select generate_series(1, 2))'],
  [DatabaseRefused, '22012', 'select 1 / 0'],
  [DatabaseRefused, '22001', `insert into notes values ('too long')`],
  [DatabaseRefused, '22P02', `select 'x'::integer`],
  [DatabaseRefused, '23502', 'insert into notes values (null)'],
  [DatabaseRefused, '23505', `insert into notes values ('once')`],
  [DatabaseRefused, '23514', `insert into notes values ('bad')`],
  [DatabaseRefused, '44000', `insert into short_notes values ('long')`],
  [
    DatabaseRefused,
    '54000',
    `insert into long_keys select string_agg(md5(i::text), '') from generate_series(1, 1000) i`,
  ],
  [DatabaseRefused, '54001', `select repeat('[', 1000000)::json`],
  [DatabaseRefused, 'P0001', `do $$begin raise exception 'no'; end$$`],
  [DatabaseUnusable, '3F000', 'create table nowhere.notes ()'],
  [DatabaseUnusable, '42601', 'selec 1'],
  [DatabaseUnusable, '42703', 'select nothing from notes'],
  [DatabaseUnusable, '42P01', 'select from nowhere'],
  [DatabaseUnusable, '42501', 'set local role pg_monitor; insert into notes values (1)'],
  [DatabaseBusy, '57014', `set local statement_timeout = 20; select pg_sleep(5)`],
  [DatabaseUnavailable, '25006', `set transaction read only; insert into notes values ('a')`],
] as const;

/** Errors that only an accident causes, as PostgreSQL reports them. */
const ACCIDENTS = [
  [DatabaseRefused, ['09000', '27000', '38000', '39000', '55000', 'F0000', 'U0001']],
  [DatabaseUnusable, ['28000', '28P01', '3D000', '42501']],
  [DatabaseConflict, ['40001', '40P01']],
  [DatabaseBusy, ['55P03']],
  [
    DatabaseUnavailable,
    ['08006', '25P03', '53100', '53200', '53300', '57P01', '57P03', '58030', 'XX000'],
  ],
] as const;

describe.each(postgresServers)('$name', (server) => {
  let url: URL;
  let database: Database;
  beforeAll(async () => {
    url = await createEmptyDatabase(server);
    database = connect(url);
    await database.query(TABLES);
  });

  /** The errors of a statement in a transaction, and without one unless it needs one. */
  async function errorsOf(statement: string): Promise<unknown[]> {
    const attempts = [
      database.transaction((query) => query(statement)),
      ...(statement.startsWith('set ') ? [] : [database.query(statement)]),
    ];
    const settled = await Promise.allSettled(attempts);
    return settled.map((one) => (one.status === 'rejected' ? one.reason : undefined));
  }

  const real = REAL.map(([kind, state, statement]) => [state, kind.name, statement, kind] as const);
  test.each(real)('%s is %s: %s', async (state, _, statement, kind) => {
    for (const error of await errorsOf(statement)) {
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ cause: { code: state }, message: expect.stringMatching(/./) });
    }
  });

  const states = ACCIDENTS.flatMap(([kind, all]) => all.map((state) => [state, kind] as const));
  test.each(states)(
    '%s is the application’s refusal if its code raised it',
    async (state, kind) => {
      const raise = `do $$begin raise exception 'no' using errcode = '${state}'; end$$`;
      const isSame = kind === DatabaseConflict || kind === DatabaseBusy;
      for (const error of await errorsOf(raise)) {
        expect(error).toBeInstanceOf(isSame ? kind : DatabaseRefused);
        expect(error).toMatchObject({ cause: { code: state }, message: 'no' });
      }
    },
  );

  test.each([
    ['database', '3D000', (there: URL) => Object.assign(there, { pathname: '/no_such' })],
    [
      'role',
      '28000',
      (there: URL) => {
        there.searchParams.set('user', 'no_such');
        return there;
      },
    ],
  ])('unusable when there is no such %s', async (_, state, change) => {
    const wrong = connect(change(new URL(url)));
    const error = await wrong.query('select 1').catch((thrown: unknown) => thrown);
    await wrong.close();
    expect(error).toBeInstanceOf(DatabaseUnusable);
    expect(error).toMatchObject({ code: 'DATABASE_UNUSABLE', cause: { code: state } });
    expect(String(error)).toContain('no_such');
  });
});

test.each([
  'postgres://instep@127.0.0.1:1/x',
  'postgres://instep@localhost:1/x',
  'postgres://instep@nowhere.invalid/x',
  'postgres:///x?host=/nowhere&user=instep',
])('unavailable when nothing listens at %s', async (url) => {
  const database = connect(new URL(url));
  for (const attempt of [
    () => database.query('select 1'),
    () => database.transaction((query) => query('select 1')),
  ]) {
    const error = await attempt().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    // The message must show the cause.
    expect(String(error)).toMatch(/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT/);
  }
});

test.each([
  ['hangs up', ''],
  ['speaks HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
])('unavailable when the listener %s', async (_, answer) => {
  const server = createServer((socket) => socket.on('error', () => undefined).end(answer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const database = connect(new URL(`postgres://instep@127.0.0.1:${port}/x`));
  const error = await database.query('select 1').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  server.close();
});

const accidents = ACCIDENTS.flatMap(([kind, states]) =>
  states.map((state) => [state, kind.name, kind] as const),
);
test.each(accidents)('%s is %s', (state, _, kind) => {
  const cause = Object.assign(new Error('an accident'), { code: state, routine: 'ExecutorRun' });
  const error = databaseError(cause);
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ cause, message: 'an accident' });
});

test('a broken connection is no error of the statement', () => {
  const cause = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' });
  expect(databaseError(cause)).toBeInstanceOf(DatabaseUnavailable);
});
