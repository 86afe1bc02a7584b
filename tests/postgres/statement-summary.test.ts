import { expect, test } from 'vitest';
import { summaryOf } from '../../src/postgres/statement-summary.ts';

test.each([
  ['select id\n  from teams\n where id = $1', 'select teams'],
  ['select id from teams order by id for no key update skip locked', 'select teams'],
  ['with free as (select id from teams) select * from free', 'select teams'],
  ['insert into instep.products (product_id) values ($1)', 'insert instep.products'],
  ['insert into a (b) select b from c on conflict (b) do update set b = 1', 'insert a'],
  [
    'with new as (select * from unnest($1::text[])) insert into\n instep.events (id)',
    'insert instep.events',
  ],
  ['update teams set plan_name = null from unnest($1::bigint[])', 'update teams'],
  ['with old as (select id from a limit 1) delete from a using old', 'delete a'],
  ['truncate instep.listed_subscriptions', 'truncate instep.listed_subscriptions'],
  [
    'select extract(epoch from created_at) from instep.subscriptions',
    'select instep.subscriptions',
  ],
  [
    'select 1 from unnest($1::uuid[]) as range cross join lateral (select key from instep.events)',
    'select instep.events',
  ],
  ['select pg_advisory_xact_lock($1)', 'select'],
  ['begin isolation level read committed; set local jit = off', 'begin'],
  ['(select a from b) union all (select a from c)', 'select b'],
  [
    '-- Why: update on it.\n-- Because.\ncreate table a (b text); insert into a (b) values (1)',
    'create',
  ],
  ['', 'statement'],
])('%j is %s', (statement, summary) => {
  expect(summaryOf(statement)).toBe(summary);
});
