import { type ApplicationId, createLogger } from 'instep';
import { ApiCollection, type ApiFault, startFakeStripeApi } from 'instep/testing';
import { DatabaseBusy, DatabaseUnavailable } from 'instep-engine/postgres';

import { createCatchUpJob } from 'instep-engine/src/repair/catch-up.ts';
import { afterAll, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { type Ingest, IngestPipeline } from '../support/internals/ingest.ts';
import { endPauses } from '../support/internals/repair.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createStripeApi } from '../support/internals/stripe.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

const NOW_SECONDS = Math.floor(Date.now() / 1_000);
const DAY_SECONDS = 86_400;
const BEGIN_SECONDS = NOW_SECONDS - 20 * DAY_SECONDS;

let count = 0;
/** An event from some days ago, each a minute later than the one before. */
const nextEvent = (fields: Parameters<typeof eventBody>[0] = {}) => {
  count += 1;
  const eventId = `evt_${String(count).padStart(5, '0')}`;
  return eventBody({ eventId, createdSeconds: BEGIN_SECONDS + count * 60, ...fields });
};

type Setting = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly events: ApiCollection;
  /** The calls to the API, as paths. */
  readonly calls: URLSearchParams[];
  /** The log lines, at level info and above. */
  readonly lines: Record<string, unknown>[];
  fault: ((call: number) => ApiFault | undefined) | undefined;
  /** The job of an instance that has just started. */
  instance(ingest?: Ingest, now?: () => number): () => Promise<unknown>;
};

/** An account with these events, and a team that follows their customer. */
async function setUp(bodies: readonly string[]): Promise<Setting & { teamId: ApplicationId }> {
  const { database } = await createDatabase();
  const ingest = openPipeline(database);
  const events = new ApiCollection(bodies.map((body) => JSON.parse(body)));
  const calls: URLSearchParams[] = [];
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const setting: Setting = {
    database,
    ingest,
    events,
    calls,
    lines,
    fault: undefined,
    instance(through = ingest, now = Date.now) {
      const options = {
        query: database.query,
        ingest: through,
        listEvents: api.listEvents,
        logger,
        now,
        nonce: () => `holder_${Math.random()}`,
      };
      const run = createCatchUpJob(options, 3_600_000);
      return async () => {
        await endPauses(database.query);
        await run(new AbortController().signal);
      };
    },
  };
  const server = await startFakeStripeApi({
    productNames: {},
    events,
    onCall(path) {
      calls.push(new URLSearchParams(path.split('?')[1]));
      return setting.fault?.(calls.length);
    },
  });
  const api = createStripeApi({ secretKey: API_KEY, baseUrl: new URL(server.url) });
  ends.push(server.close, () => database.close());
  const teamId = await addTeam(database.query, { name: 'Team', customerId: 'cus_1' });
  return Object.assign(setting, { teamId });
}

type Row = { event_id: string; outcome: string; deliveries: number };

const logOf = ({ database }: Setting) =>
  database.query<Row>(
    'select event_id, outcome, deliveries from instep.events order by created_at, event_id',
  );

const planOf = async ({ database, teamId }: Setting & { teamId: ApplicationId }) =>
  (await readTeam(database.query, teamId))?.plan;

const seenBy = async ({ database }: Setting) => {
  const [row] = await database.query<{ progress: { seenSeconds: number } | null }>(
    `select progress from instep.leased_jobs where name = 'catch-up'`,
  );
  return row?.progress;
};

const idOf = (body: string): string => JSON.parse(body).id;

test('stores missed events under their own ids and times, and nothing twice', async () => {
  const [first, missed, last] = [
    nextEvent({ status: 'trialing' }),
    nextEvent({ status: 'active' }),
    nextEvent({ status: 'canceled' }),
  ] as const;
  const setting = await setUp([first, missed, last]);
  await setting.ingest([received(first)]);
  await setting.instance()();
  expect(await logOf(setting)).toEqual([
    { event_id: idOf(first), outcome: 'applied', deliveries: 1 },
    { event_id: idOf(missed), outcome: expect.any(String), deliveries: 0 },
    { event_id: idOf(last), outcome: 'applied', deliveries: 0 },
  ]);
  expect(await planOf(setting)).toMatchObject({ subscriptionStatus: 'canceled' });
  expect(setting.lines).toContainEqual(
    expect.objectContaining({ msg: 'caught up', listed: 3, missed: 2 }),
  );

  // Stripe delivers it later.
  expect(await setting.ingest([received(last), received(missed)])).toMatchObject([
    { outcome: 'duplicate' },
    { outcome: 'duplicate' },
  ]);
  expect((await logOf(setting)).map(({ deliveries }) => deliveries)).toEqual([1, 1, 1]);
  await setting.instance()();
  expect(await logOf(setting)).toHaveLength(3);
});

test('lists all events of both types at first, and then those since the last run', async () => {
  const bodies = [nextEvent(), nextEvent()];
  const setting = await setUp(bodies);
  await setting.instance()();
  expect(setting.calls[0]?.getAll('types[0]')).toEqual(['customer.subscription.updated']);
  expect(setting.calls[0]?.getAll('types[1]')).toEqual(['customer.subscription.deleted']);
  const since = () => Number(setting.calls.at(-1)?.get('created[gte]'));
  expect(since()).toBe(0);
  await setting.instance()();
  expect(Math.abs(since() - (NOW_SECONDS - 3_600))).toBeLessThan(600);
});

test('resumes where it stopped, and then reads what has happened since it began', async () => {
  const bodies = Array.from({ length: 250 }, () => nextEvent());
  const setting = await setUp(bodies);
  let isDown = true;
  const shaky: Ingest = async (events) => {
    // Events of the second page can't be stored for now.
    const isOfSecondPage = events.some(({ eventId }) => eventId === idOf(bodies[120] ?? ''));
    if (isDown && isOfSecondPage) throw new DatabaseUnavailable('away');
    return await setting.ingest(events);
  };
  const instance = setting.instance(shaky);
  await expect(instance()).rejects.toThrow(DatabaseUnavailable);
  expect(await seenBy(setting)).toMatchObject({
    seenSeconds: null,
    unfinishedRun: { cursor: idOf(bodies[150] ?? '') },
  });

  isDown = false;
  const before = setting.calls.length;
  const late = nextEvent({ createdSeconds: NOW_SECONDS });
  setting.events.set(JSON.parse(late));
  await setting.instance(shaky)();
  expect(setting.calls[before]?.get('starting_after')).toBe(idOf(bodies[150] ?? ''));
  expect(await logOf(setting)).toHaveLength(251);
  expect(await seenBy(setting)).toEqual({ seenSeconds: expect.any(Number), unfinishedRun: null });
});

test('begins at the start of the list when Stripe no longer knows the cursor', async () => {
  const bodies = Array.from({ length: 150 }, () => nextEvent());
  const setting = await setUp(bodies);
  setting.fault = (call) => (call === 2 ? { status: 400 } : undefined);
  const instance = setting.instance();
  await expect(instance()).rejects.toMatchObject({ status: 400 });
  await instance();
  expect(setting.calls.map((call) => call.get('starting_after'))).toEqual([
    null,
    idOf(bodies[50] ?? ''),
    null,
    idOf(bodies[50] ?? ''),
  ]);
  expect(await logOf(setting)).toHaveLength(150);
});

test('logs an event that the application’s tables refuse, and continues', async () => {
  const [good, bad] = [nextEvent(), nextEvent({ subscriptionId: 'sub_bad' })];
  const setting = await setUp([bad, good]);
  await setting.database.query(
    `alter table teams add constraint no check (provider_subscription_id <> 'sub_bad')`,
  );
  await setting.instance()();
  expect((await logOf(setting)).map(({ event_id }) => event_id)).toEqual([idOf(good)]);
  expect(setting.lines).toContainEqual(
    expect.objectContaining({ level: 'error', msg: 'event refused', eventId: idOf(bad) }),
  );
});

test('an event whose team is locked delays no others, and is stored by the next run', async () => {
  const bodies = Array.from({ length: 250 }, (_, index) => {
    const name = index % 120 === 0 ? 'locked' : '1';
    return nextEvent({ customerId: `cus_${name}`, subscriptionId: `sub_${name}` });
  });
  const setting = await setUp(bodies);
  const { database } = setting;
  const lockedId = await addTeam(database.query, { name: 'Locked', customerId: 'cus_locked' });
  const { ingest } = new IngestPipeline({
    database,
    api: { retrieveProductName: async () => null },
    logger: createLogger('silent'),
    planSelection: 'newest',
    maxQueued: 1_000,
    timeoutMs: 2_000,
  });
  const tried: (string | null)[] = [];
  const noted: Ingest = async (events) => {
    tried.push(...events.map(({ eventId }) => eventId));
    return await ingest(events);
  };
  const isLocked = (body: string) => JSON.parse(body).data.object.customer === 'cus_locked';
  const lockedIds = bodies.filter(isLocked).map(idOf);
  const instance = setting.instance(noted);
  await whileHeld(database, lockTeam(lockedId), async () => {
    await expect(instance()).rejects.toThrow(DatabaseBusy);
    expect(await logOf(setting)).toHaveLength(bodies.length - lockedIds.length);
  });
  // Only one page waits for the team.
  expect(tried.filter((eventId) => eventId !== null && lockedIds.includes(eventId))).toEqual([
    lockedIds.at(-1),
  ]);
  expect(setting.lines).toContainEqual(
    expect.objectContaining({ msg: 'missed event not stored', customerId: 'cus_locked' }),
  );
  expect(await seenBy(setting)).toMatchObject({ seenSeconds: null });

  await instance();
  expect(await logOf(setting)).toHaveLength(bodies.length);
  expect(await seenBy(setting)).toEqual({ seenSeconds: expect.any(Number), unfinishedRun: null });
});

test('still finds missed events after an event with a future time', async () => {
  const setting = await setUp([nextEvent({ createdSeconds: NOW_SECONDS + DAY_SECONDS })]);
  await setting.instance()();
  const missed = nextEvent({ createdSeconds: NOW_SECONDS });
  setting.events.set(JSON.parse(missed));
  await setting.instance()();
  expect((await logOf(setting)).map(({ event_id }) => event_id)).toContain(idOf(missed));
});

test('passes over no missed event while the clock of the machine is ahead', async () => {
  const missed = nextEvent();
  const setting = await setUp([missed]);
  const aheadMs = 60 * DAY_SECONDS * 1_000;
  await setting.instance(setting.ingest, () => Date.now() + aheadMs)();
  await setting.instance()();
  expect((await logOf(setting)).map(({ event_id }) => event_id)).toEqual([idOf(missed)]);
});
