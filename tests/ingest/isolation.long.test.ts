import { setTimeout as sleep } from 'node:timers/promises';
import { createHandler, createLogger, type FetchHandler } from 'instep';
import { signWebhook } from 'instep/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { percentile } from '../faults/percentile.ts';
import type { Database } from '../support/internals/database.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

const MAX_P99_MS = 1_000;
const SLOW = 'cus_slow';
const OTHERS = Array.from({ length: 50 }, (_, index) => `cus_other${index}`);

let database: Database;
let url: URL;
let handler: FetchHandler;
beforeEach(async () => {
  ({ database, url } = await createDatabase());
  const environment = { ...SETTINGS, DATABASE_URL: url.href };
  handler = createHandler({ environment, logger: createLogger('silent'), maintenance: 'off' });
  for (const customerId of [SLOW, ...OTHERS])
    await addTeam(database.query, { name: 'Team', customerId });
  await Promise.all(OTHERS.map((customerId) => post(eventOf(customerId))));
});
afterEach(async () => {
  await handler.close();
  await database.close();
});

let seconds = 1_700_000_000;
function eventOf(customerId: string) {
  seconds += 1;
  const event = JSON.parse(eventBody({ customerId, createdSeconds: seconds }));
  event.data.object.items.data[0].plan.product = { id: `prod_${seconds}`, name: 'Pro' };
  return JSON.stringify(event);
}

async function post(body: string) {
  const startedAtMs = performance.now();
  const headers = { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
  const request = new Request('http://localhost/api/stripe/webhook', {
    method: 'POST',
    headers,
    body,
  });
  const { status } = await handler(request);
  return { status, tookMs: performance.now() - startedAtMs };
}

/** Posts bodies at this rate, whatever the answers. */
async function postAll(bodies: readonly string[], perSecond: number) {
  const startedAtMs = performance.now();
  const answers: ReturnType<typeof post>[] = [];
  for (const [index, body] of bodies.entries()) {
    const waitMs = startedAtMs + (index * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    answers.push(post(body));
  }
  return await Promise.all(answers);
}

/** Events of other teams for this time. */
const postOthers = (forSeconds: number, perSecond: number) =>
  postAll(
    Array.from({ length: forSeconds * perSecond }, (_, index) =>
      eventOf(OTHERS[index % OTHERS.length] ?? ''),
    ),
    perSecond,
  );

function expectNotDelayed(answers: Awaited<ReturnType<typeof postAll>>) {
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  const tookMs = answers.map((answer) => answer.tookMs);
  expect(percentile(tookMs, 99)).toBeLessThanOrEqual(MAX_P99_MS);
}

const slowTrigger = (forSeconds: number) =>
  database.query(`
    create function be_slow() returns trigger language plpgsql as
    $$begin if new.provider_customer_id = '${SLOW}' then perform pg_sleep(${forSeconds}); end if;
    return new; end$$;
    create trigger be_slow before update on teams for each row execute function be_slow()`);

const slowEvents = (count: number) => Array.from({ length: count }, () => eventOf(SLOW));

test('a trigger that takes 1.8 seconds for one team, whose events arrive every second', async () => {
  await slowTrigger(1.8);
  const [answers, slow] = await Promise.all([postOthers(10, 100), postAll(slowEvents(8), 1)]);
  expectNotDelayed(answers);
  expect(slow.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
});

test('six events of one team, 300 ms apart, behind a trigger that takes 30 seconds', async () => {
  await slowTrigger(30);
  const slow = sleep(1_000).then(() => postAll(slowEvents(6), 1_000 / 300));
  expectNotDelayed(await postOthers(10, 100));
  expect((await slow).map(({ status }) => status)).toEqual(Array(6).fill(503));
});

test('one slow event while other teams send 200 per second', async () => {
  await slowTrigger(1.8);
  const [answers, slow] = await Promise.all([
    postOthers(10, 200),
    sleep(2_000).then(() => post(eventOf(SLOW))),
  ]);
  expectNotDelayed(answers);
  expect(slow.status).toBe(200);
});
