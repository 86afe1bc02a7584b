import { DatabaseBusy } from 'instep-engine/postgres';
import { findIssues } from 'instep-operate';
import { expect, test, vi } from 'vitest';
import type { IngestPipelineOptions } from '../support/internals/ingest.ts';
import { lockTeam, whileHeld } from '../support/postgres/locks.ts';
import { counting } from '../support/postgres/observed-database.ts';
import { embeddedServer } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openWholePipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const store = useDatabase(embeddedServer);

const openPipeline = (options: Partial<IngestPipelineOptions> = {}) =>
  openWholePipeline(store.database, options);

test('an event of a team that is locked for a moment does not wait for other locked teams', async () => {
  const pipeline = openPipeline();
  const teams = await Promise.all(Array.from({ length: 21 }, () => store.addTeam()));
  const [brief, ...others] = teams.reverse();
  if (brief === undefined) throw new RangeError('no teams');
  const lockOthers = others.map(({ teamId }) => lockTeam(teamId)).join(';');
  let settled = 0;
  const waiting: Promise<unknown>[] = [];
  await whileHeld(store.openAnother(), lockOthers, async () => {
    let applied: Promise<unknown> | undefined;
    await whileHeld(store.openAnother(), lockTeam(brief.teamId), async () => {
      for (const { customerId } of others) {
        const ingested = pipeline.ingest([receivedEvent({ customerId })]).finally(() => {
          settled += 1;
        });
        waiting.push(ingested);
      }
      applied = pipeline.ingest([receivedEvent({ customerId: brief.customerId })]);
      await vi.waitUntil(() => pipeline.queued().blocked === teams.length);
    });
    await applied;
    expect(settled).toBe(0);
  });
  await Promise.all(waiting);
  for (const { teamId } of teams) {
    expect(await store.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  }
});

test('an event is applied while the app inserts rows that refer to its team', async () => {
  const { teamId, customerId } = await store.addTeam();
  await store.database.query('create table members (team_id integer references teams (id))');
  await whileHeld(store.openAnother(), `insert into members values (${teamId})`, async () => {
    const [result] = await openPipeline().ingest([receivedEvent({ customerId })]);
    expect(result).toMatchObject({ outcome: 'applied', teamIds: [teamId] });
  });
  await store.database.query('drop table members');
});

test('a team whose trigger waits delays no other team, and again not when its event is sent again', async () => {
  const { query } = store.database;
  const slow = await store.addTeam();
  await query(`
    create function wait() returns trigger language plpgsql as
    $$begin if new.provider_customer_id = '${slow.customerId}' then perform pg_sleep(30); end if;
    return new; end$$;
    create trigger wait before update on teams for each row execute function wait()`);
  const pipeline = openPipeline({ timeoutMs: 4_000 });
  const settleAll = async () => {
    const others = await Promise.all(Array.from({ length: 9 }, () => store.addTeam()));
    const slowEnd = pipeline.ingest([receivedEvent({ customerId: slow.customerId })]);
    const ends = others.map(({ customerId }) => pipeline.ingest([receivedEvent({ customerId })]));
    const isFirst = await Promise.race([
      slowEnd.catch(() => false),
      Promise.all(ends).then(() => true),
    ]);
    expect(isFirst).toBe(true);
    await expect(slowEnd).rejects.toThrow(DatabaseBusy);
  };
  await settleAll();
  await settleAll();
  const issues = findIssues(store);
  await vi.waitFor(async () =>
    expect((await issues.page()).rows).toMatchObject([
      { code: 'plan-refused', team: { id: slow.teamId } },
    ]),
  );
  await query('drop trigger wait on teams');
  const again = [receivedEvent({ customerId: slow.customerId })];
  expect(await pipeline.ingest(again)).toMatchObject([{ outcome: 'applied' }]);
});

test('drops events whose requests have given up', async () => {
  const { database, counts } = counting(store.database);
  const pipeline = openWholePipeline(database, { timeoutMs: 150 });
  await whileHeld(store.openAnother(), 'lock table instep.events', async () => {
    const ends = await Promise.allSettled(
      Array.from({ length: 30 }, () =>
        pipeline.ingest([receivedEvent({ customerId: 'cus_dropped' })]),
      ),
    );
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']));
  });
  expect(counts.statements).toBeLessThan(20);
  expect(pipeline.queued()).toMatchObject({ ready: 0, blocked: 0 });
});
