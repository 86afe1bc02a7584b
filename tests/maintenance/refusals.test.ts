import { RefusalCounts } from 'instep-operate/feature';
import { checkHealth } from 'instep-operate/host';
import { beforeEach, expect, test } from 'vitest';
import { OTHER_FEATURES } from '../support/internals/operations.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const { database } = await createDatabase();
const { query } = database;
const context = { database, keyMode: null, now: Date.now, otherFeatures: OTHER_FEATURES };
const refusals = async () => (await checkHealth(context)).refusals;

let nowMs = 0;
let counts: RefusalCounts;

beforeEach(async () => {
  nowMs = Date.now() - 10_000;
  counts = new RefusalCounts(() => nowMs);
  await query('truncate instep.refusals, instep.events');
});

function refuseSessions(count: number, by = counts): void {
  for (let number = 0; number < count; number += 1) by.refuse('sessions');
}

/** As if what is stored had happened this long ago. */
const age = (interval: string) =>
  query(
    `update instep.refusals
        set since     = since - $1::interval,
            stored_at = stored_at - $1::interval`,
    [interval],
  );

test('what several instances refuse is one sum since the first one, written once', async () => {
  const sinceMs = nowMs;
  counts.refuse('deliveries');
  nowMs += 1_000;
  counts.refuse('deliveries');
  expect(await refusals()).toEqual({});
  await counts.store(query);
  const other = new RefusalCounts(() => nowMs);
  other.refuse('deliveries');
  await other.store(query);
  expect(await refusals()).toEqual({ deliveries: { refused: 3, sinceMs } });
});

test('counting begins again after a day, and after a delivery was stored', async () => {
  counts.refuse('deliveries');
  await counts.store(query);
  await age('25 hours');
  expect(await refusals()).toEqual({});
  for (const refused of [1, 2]) {
    counts.refuse('deliveries');
    await counts.store(query);
    expect(await refusals()).toMatchObject({ deliveries: { refused } });
  }
  await query(
    `insert into instep.events (key, type, received_at, deliveries, outcome, body)
     values (gen_random_uuid(), 'customer.subscription.updated', $1, 1, 'applied', '')`,
    [new Date(nowMs + 1)],
  );
  nowMs += 2;
  counts.refuse('deliveries');
  await counts.store(query);
  expect(await refusals()).toEqual({ deliveries: { refused: 1, sinceMs: nowMs } });
});

test('cookies count only where most are refused, and no longer when an instance accepts them', async () => {
  counts.sessionRead('');
  refuseSessions(1);
  await counts.store(query);
  expect(await refusals()).toEqual({});
  counts.sessionRead('');
  refuseSessions(2);
  await counts.store(query);
  expect(await refusals()).toMatchObject({ sessions: { refused: 2 } });
  counts.sessionRead('');
  await counts.store(query);
  // Another instance is possibly still refusing them.
  expect(await refusals()).toMatchObject({ sessions: { refused: 2 } });
  await age('2 minutes');
  counts.sessionRead('');
  await counts.store(query);
  expect(await refusals()).toEqual({});
});
