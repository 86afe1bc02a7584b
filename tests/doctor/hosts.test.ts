import type { Replication } from 'instep/src/doctor/database-server.ts';
import { type Host, judgeHosts } from 'instep/src/doctor/database-server.ts';
import { DatabaseUnavailable } from 'instep/src/postgres/errors.ts';
import { expect, test } from 'vitest';

const PRIMARY: Replication = {
  isStandby: false,
  systemId: '1',
  timeline: 1,
  startedAt: '2026-01-01 00:00:00+00',
  positionBytes: 5_000_000,
  synchronousNames: 'two',
  standbys: 1,
  synchronousStandbys: 1,
  seesStandbys: true,
  role: 'app',
};
const STANDBY: Replication = {
  ...PRIMARY,
  isStandby: true,
  positionBytes: 3_000_000,
  standbys: 0,
  synchronousStandbys: 0,
};

const one = (answer: Host['answer'] = PRIMARY): Host => ({ name: 'one:5432', answer });
const two = (answer: Host['answer'] = STANDBY): Host => ({ name: 'two:5432', answer });

/** `state: result` of each check. */
const linesOf = (...hosts: Host[]) =>
  judgeHosts(hosts).map(({ name, state, result }) => `${state} ${name}: ${result}`);

test('lists each host with its role, its timeline and how far a standby is behind', () => {
  expect(linesOf(one(), two())).toEqual([
    'ok host: one:5432 is a primary, timeline 1',
    'ok host: two:5432 is a standby, timeline 1, 2.0 MB behind',
    'ok standby: synchronous_standby_names is two, 1 of them connected',
  ]);
});

test('says why a host can’t be reached', () => {
  expect(linesOf(one(), two(new DatabaseUnavailable('connect ECONNREFUSED')))).toContain(
    "warning host: two:5432 can't be reached: connect ECONNREFUSED",
  );
});

test('fails when two hosts accept writes', () => {
  expect(
    linesOf(one(), two({ ...PRIMARY, timeline: 2, startedAt: '2026-01-02 00:00:00+00' })),
  ).toContain(
    'failure host: one:5432 and two:5432 accept writes at the same time: what an old primary commits is lost',
  );
});

test('accepts two hosts that lead to one server', () => {
  expect(linesOf(one(), two(PRIMARY)).filter((line) => !line.startsWith('ok'))).toEqual([]);
});

test('fails when no standby that commits wait for is connected, even with a single host', () => {
  const alone = { ...PRIMARY, synchronousStandbys: 0 };
  expect(linesOf(one(alone))).toEqual([
    'failure standby: synchronous_standby_names is two, and none of them is connected: no write ' +
      'is committed, and every event gets a 503',
  ]);
});

test('warns when commits wait for no standby, unless there is a single host', () => {
  const careless = { ...PRIMARY, synchronousNames: '' };
  expect(linesOf(one(careless), two())).toContain(
    'warning standby: commits wait for no standby: the last events can be lost with the primary',
  );
  expect(linesOf(one(careless))).toEqual([]);
});

test('names the grants that the role lacks', () => {
  const blind = { ...PRIMARY, timeline: null, synchronousStandbys: 0, seesStandbys: false };
  expect(judgeHosts([one(blind), two()]).map(({ advice }) => advice)).toEqual([
    null,
    null,
    expect.stringMatching(/^as a superuser: grant execute on function pg_walfile_name.* to app;$/),
    'as a superuser: grant pg_read_all_stats to app;',
  ]);
});

test('finds nothing wrong with a single host that works', () => {
  expect(linesOf(one({ ...PRIMARY, synchronousNames: '' }))).toEqual([]);
  expect(linesOf(one(new DatabaseUnavailable('away')))).toEqual([]);
});
