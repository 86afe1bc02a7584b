import { expect, test, vi } from 'vitest';
import { lockTeam, untilWaiting, whileHeld } from '../support/postgres/locks.ts';
import { openMetrics } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const UPDATED = 'customer.subscription.updated';
const MAX_QUEUED = 3;
const service = await openMetrics({
  MAX_QUEUED_EVENTS: String(MAX_QUEUED),
  REQUEST_DEADLINE_MS: '60000',
});

const counted = (outcome: string, type = UPDATED, source = 'delivery') =>
  service.value(`instep_events_total{type="${type}",outcome="${outcome}",source="${source}"}`);

test('events are counted by type and outcome, from zero', async () => {
  expect(await counted('applied', 'customer.subscription.deleted', 'list')).toBe(0);
  const { customerId } = await service.addTeam();
  const first = eventBody({ customerId });
  const second = eventBody({ customerId });
  for (const body of [second, first, second]) await service.post(body);
  await service.post(eventBody({ customerId, status: 'past_due' }));
  for (const body of [`{"type":"${UPDATED}"}`, '{"type":"invoice.paid"}', '{"type":1}']) {
    await service.post(body);
  }
  for (const outcome of ['applied', 'stale', 'duplicate', 'unchanged', 'unreadable']) {
    expect(await counted(outcome)).toBe(1);
  }
  expect(await counted('unhandled', 'other')).toBe(1);
  expect(await counted('not-an-event', 'other')).toBe(1);
});

test('a parked event is counted again when it is applied', async () => {
  await service.post(eventBody({ customerId: 'cus_late' }));
  expect(await counted('parked')).toBe(1);
  expect(await counted('applied', UPDATED, 'log')).toBe(0);
  await service.database.query(
    `insert into teams (name, provider_customer_id) values ('Late', 'cus_late')`,
  );
  await vi.waitFor(async () => expect(await counted('applied', UPDATED, 'log')).toBe(1), 20_000);
});

test('the delivery delay is measured at the first delivery of an event', async () => {
  const { customerId } = await service.addTeam();
  const count = () => service.value('instep_event_delivery_delay_seconds_count');
  const sum = () => service.value('instep_event_delivery_delay_seconds_sum');
  const [countBefore = 0, sumBefore = 0] = [await count(), await sum()];
  const hourAgo = Math.floor(Date.now() / 1_000) - 3_600;
  const body = eventBody({ customerId, createdSeconds: hourAgo });
  await service.post(body);
  await service.post(body);
  expect(await count()).toBe(countBefore + 1);
  expect(((await sum()) ?? 0) - sumBefore).toBeGreaterThanOrEqual(3_600);
  // Stripe's clock can be ahead of ours.
  await service.post(eventBody({ customerId, createdSeconds: hourAgo + 7_200 }));
  expect(await count()).toBe(countBefore + 2);
  expect(((await sum()) ?? 0) - sumBefore).toBeGreaterThanOrEqual(3_600);
});

test('batches are measured', async () => {
  const values = await service.values();
  const batches = values.get('instep_batch_events_count{queue="ready"}');
  expect(batches).toBeGreaterThan(0);
  expect(values.get('instep_batch_duration_seconds_count{queue="ready"}')).toBe(batches);
  expect(values.get('instep_batch_events_sum{queue="ready"}')).toBeGreaterThanOrEqual(batches ?? 0);
});

test('shows queued events and counts refused ones', async () => {
  const { teamId, customerId } = await service.addTeam();
  const failed = () => service.value('instep_event_failures_total{code="QUEUE_FULL"}');
  expect(await failed()).toBe(0);
  const answers: Promise<Response>[] = [];
  await whileHeld(service.database, lockTeam(teamId), async () => {
    answers.push(service.post(eventBody({ customerId })));
    await vi.waitFor(async () => {
      expect(await service.value('instep_queued_events{queue="blocked"}')).toBe(1);
    }, 20_000);
    answers.push(
      ...Array.from({ length: MAX_QUEUED - 1 + 4 }, () => service.post(eventBody({ customerId }))),
    );
    await vi.waitFor(async () => {
      expect(await service.value('instep_queued_events{queue="blocked"}')).toBe(MAX_QUEUED);
      expect(await failed()).toBe(4);
    }, 20_000);
  });
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 503)).toHaveLength(4);
  const answered = 'instep_http_request_duration_seconds_count{route="/api/stripe/webhook"';
  expect(await service.value(`${answered},status="503"}`)).toBe(4);
  expect(await service.value('instep_queued_events{queue="blocked"}')).toBe(0);
});

test('counts requests that are refused before their body is read', async () => {
  const answered = 'instep_http_request_duration_seconds_count{route="/api/stripe/webhook"';
  const counted = async () => {
    const values = await service.values();
    return [
      values.get('instep_event_failures_total{code="QUEUE_FULL"}'),
      values.get(`${answered},status="503"}`),
    ];
  };
  const [failed = 0, refused = 0] = await counted();
  const accepted: Promise<Response>[] = [];
  // Blocks all events, so that the queue fills up.
  await whileHeld(service.database, 'lock table instep.events in exclusive mode', async () => {
    accepted.push(service.post(eventBody()));
    await untilWaiting(service.database);
    accepted.push(...Array.from({ length: MAX_QUEUED }, () => service.post(eventBody())));
    await vi.waitFor(async () => {
      expect(await service.value('instep_queued_events{queue="ready"}')).toBe(MAX_QUEUED);
    }, 20_000);
    const url = `${service.url}/api/stripe/webhook`;
    for (const one of [url, url, `${url}?odd`]) {
      expect((await fetch(one, { method: 'POST', body: '{}' })).status).toBe(503);
    }
    expect(await counted()).toEqual([failed + 3, refused + 3]);
  });
  for (const response of accepted) expect((await response).status).toBe(200);
});

test('signatures of another secret, or too old, are counted', async () => {
  const failures = () => service.value('instep_signature_failures_total');
  const before = (await failures()) ?? 0;
  expect((await service.post('{}', 'whsec_wrong')).status).toBe(400);
  expect((await service.post('{}', undefined, Date.now() - 1_000_000)).status).toBe(400);
  expect(await failures()).toBe(before + 2);
});
