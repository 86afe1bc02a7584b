import { createLogger } from 'instep';
import { countEvents } from 'instep/operate';
import { expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { createContext } from '../support/internals/operations.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';

const NOW_MS = Date.UTC(2026, 9, 14, 15, 30, 20);
const { database, url } = await createDatabase();

const contextOf = (database: Database) =>
  createContext({
    ...{ database, stripeApi: null, planSelection: 'newest' },
    ...{ logger: createLogger('silent'), now: () => NOW_MS },
  });

test('counts by slot and outcome, in whatever order of time the log is', async () => {
  const at = (minutes: number) => new Date(Date.UTC(2026, 9, 14, 15, 30) - minutes * 60_000);
  const events: [Date, string][] = [
    [at(0), 'applied'],
    [at(500), 'applied'],
    [at(2), 'parked'],
    [at(2), 'stale'],
    [at(2), 'stale'],
    [at(2.01), 'applied'],
    [at(-2), 'applied'],
  ];
  await database.query(
    `insert into instep.events (key, type, received_at, deliveries, outcome, body)
     select gen_random_uuid(), 'customer.subscription.updated', received_at, 1, outcome, ''
       from unnest($1::timestamptz[], $2::text[]) as event (received_at, outcome)`,
    [events.map(([receivedAt]) => receivedAt), events.map(([, outcome]) => outcome)],
  );
  const none = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
  expect(await countEvents(contextOf(database), { slotSeconds: 60, slots: 4 })).toEqual([
    { startsAtMs: at(3).getTime(), counts: { ...none, applied: 1 } },
    { startsAtMs: at(2).getTime(), counts: { ...none, stale: 2, parked: 1 } },
    { startsAtMs: at(1).getTime(), counts: none },
    { startsAtMs: at(0).getTime(), counts: { ...none, applied: 1 } },
  ]);
});

test('gives up after a second', async () => {
  const other = connect(url);
  await other.transaction(async (query) => {
    await query('lock table instep.events in access exclusive mode');
    expect(await countEvents(contextOf(database), { slotSeconds: 60, slots: 60 })).toBeNull();
  });
});
