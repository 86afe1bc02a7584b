import type { ApplicationId } from 'instep/src/core/application.ts';
import { IngestPipeline } from 'instep/src/ingest/pipeline.ts';
import { processBatch } from 'instep/src/ingest/process-batch.ts';
import type { Query } from 'instep/src/postgres/database.ts';
import { addTeam, readTeam } from 'instep/src/postgres/statements/teams.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const OPTIONS = {
  planSelection: 'newest',
  namesWritten: 'everywhere',
  linkByMetadata: 'teamId',
} as const;

describe.each(postgresServers)('with LINK_BY_METADATA on $name', (server) => {
  const store = useDatabase(server);
  const lines: string[] = [];

  function openPipeline(linkByMetadata: string | null = 'teamId', database = store.database) {
    return new IngestPipeline({
      database,
      api: { retrieveProductName: async () => null },
      logger: createLogger('info', { write: (line) => lines.push(line) }),
      planSelection: 'newest',
      linkByMetadata,
      keyMode: 'test',
      maxQueued: 1_000,
    }).ingest;
  }

  const newTeam = (customerId: string | null = null) =>
    addTeam(store.database.query, { name: 'Acme', customerId });

  /** An event of a subscription with this metadata. */
  function eventWith(
    metadata: unknown,
    customerId: string,
    status = 'active',
    createdSeconds = 1,
    origin = {},
  ) {
    const subscription = { customerId, subscriptionId: `sub_${customerId}`, status };
    const event = JSON.parse(eventBody({ ...subscription, createdSeconds }));
    event.data.object.metadata = metadata;
    return received(JSON.stringify({ ...event, ...origin }));
  }

  const rowOf = async (id: ApplicationId) => {
    const team = await readTeam(store.database.query, id);
    return [team?.customerId ?? null, team?.plan.subscriptionStatus ?? null];
  };

  test('an event links its customer to the team that it names, and decides its plan', async () => {
    const customerId = store.newCustomer();
    const teamId = await newTeam();
    const event = eventWith({ teamId: String(teamId) }, customerId);
    expect(await openPipeline()([event])).toEqual([{ outcome: 'applied', teamIds: [teamId] }]);
    expect(await rowOf(teamId)).toEqual([customerId, 'active']);
    expect(lines.join()).toContain('team linked by metadata');
    expect(await openPipeline()([event])).toMatchObject([{ outcome: 'duplicate' }]);
  });

  test.each([{ livemode: true }, { account: 'acct_other' }])(
    'an event of another mode or account links nothing: %j',
    async (origin) => {
      const teamId = await newTeam();
      const metadata = { teamId: String(teamId) };
      const event = eventWith(metadata, store.newCustomer(), 'active', 1, origin);
      expect(await openPipeline()([event])).toMatchObject([{ outcome: 'parked' }]);
      expect(await rowOf(teamId)).toEqual([null, null]);
    },
  );

  test('without the setting, the event waits for a team', async () => {
    const teamId = await newTeam();
    const event = eventWith({ teamId: String(teamId) }, store.newCustomer());
    expect(await openPipeline(null)([event])).toMatchObject([{ outcome: 'parked' }]);
    expect(await rowOf(teamId)).toEqual([null, null]);
  });

  test('a team that has another customer is never changed', async () => {
    const own = store.newCustomer();
    const teamId = await newTeam(own);
    const event = eventWith({ teamId: String(teamId) }, store.newCustomer());
    expect(await openPipeline()([event])).toMatchObject([{ outcome: 'parked' }]);
    expect(await rowOf(teamId)).toEqual([own, null]);
  });

  test('a customer that has a team stays with it', async () => {
    const customerId = store.newCustomer();
    const [own, other] = [await newTeam(customerId), await newTeam()];
    const event = eventWith({ teamId: String(other) }, customerId);
    expect(await openPipeline()([event])).toMatchObject([{ outcome: 'applied', teamIds: [own] }]);
    expect(await rowOf(other)).toEqual([null, null]);
  });

  test.each([
    ['no team', { teamId: '999999999' }],
    ['an injection', { teamId: "1'; drop table teams; --" }],
    ['a number', { teamId: 1 }],
    ['NUL', { teamId: '1\0' }],
    ['a lone surrogate', { teamId: '1\ud800' }],
    ['nothing', { teamId: '' }],
    ['a megabyte', { teamId: '1'.repeat(1_000_000) }],
    ['another key', { TeamId: '1', __proto__: { teamId: '1' } }],
    ['a list', ['1']],
    ['null', null],
  ])('metadata with %s changes nothing', async (_, metadata) => {
    const teamId = await newTeam();
    const event = eventWith(metadata, store.newCustomer());
    expect(await openPipeline()([event])).toMatchObject([{ outcome: 'parked' }]);
    expect(await rowOf(teamId)).toEqual([null, null]);
  });

  test('of two customers that name one team at the same moment, one gets it', async () => {
    const teamId = await newTeam();
    const events = [store.newCustomer(), store.newCustomer()].map((customerId) =>
      eventWith({ teamId: String(teamId) }, customerId),
    );
    const results = await Promise.all(events.map((event) => openPipeline()([event])));
    const outcomes = results.flat().map(({ outcome }) => outcome);
    expect(outcomes.sort()).toEqual(['applied', 'parked']);
  });

  test('if the application refuses the link, the event is stored, and others are applied', async () => {
    const { query } = store.database;
    const [teamId, otherId] = [await newTeam(), await newTeam()];
    await query(`
      create function refuse() returns trigger language plpgsql as
      $$begin raise exception 'refused'; end$$;
      create trigger refuse before update on teams for each row
        when (old.id = ${teamId}) execute function refuse()`);
    const customers = [store.newCustomer(), store.newCustomer()] as const;
    const results = await openPipeline()([
      eventWith({ teamId: String(teamId) }, customers[0]),
      eventWith({ teamId: String(otherId) }, customers[1]),
    ]);
    await query('drop trigger refuse on teams; drop function refuse');
    expect(results).toMatchObject([{ outcome: 'parked' }, { outcome: 'applied' }]);
    expect(await rowOf(otherId)).toEqual([customers[1], 'active']);
  });

  test('an event counts against what another instance committed before the link', async () => {
    const customerId = store.newCustomer();
    const teamId = await newTeam();
    const eventOf = (status: string, createdSeconds: number) =>
      eventWith({ teamId: String(teamId) }, customerId, status, createdSeconds);
    const newer = openPipeline('teamId', store.openAnother());
    const { results } = await store.database.transaction((query, atCommit) => {
      const afterNewer: Query = async (statement, values) => {
        if (typeof statement !== 'string' && statement.name === 'lock_customer_to_link') {
          await newer([eventOf('trialing', 2_000)]);
        }
        return await query(statement, values);
      };
      const older = { ...eventOf('active', 1_000), productName: null };
      return processBatch({ query: afterNewer, atCommit }, [older], OPTIONS);
    });
    expect(results).toMatchObject([{ outcome: 'stale', teamIds: [teamId] }]);
    expect(await rowOf(teamId)).toEqual([customerId, 'trialing']);
  });

  test('batches of the same customers in opposite orders never deadlock', async () => {
    const pools = [store.openAnother(), store.openAnother()];
    // Looks up the application's tables, which would repeat the first transaction of a pool.
    await Promise.all(pools.map(({ query }) => readTeam(query, 1)));
    let attempts = 0;
    for (let round = 0; round < 3; round += 1) {
      const events = [];
      for (let count = 0; count < 40; count += 1) {
        const event = eventWith({ teamId: String(await newTeam()) }, store.newCustomer());
        events.push({ ...event, productName: null });
      }
      const batches = [events, events.toReversed()].map((batch, index) =>
        pools[index]?.transaction((query, atCommit) => {
          attempts += 1;
          return processBatch({ query, atCommit }, batch, OPTIONS);
        }),
      );
      await Promise.all(batches);
    }
    // After a deadlock, one of them would be repeated.
    expect(attempts).toBe(6);
  });

  test.each(['first', 'last'])(
    'an ended subscription that arrives %s never takes the team',
    async (position) => {
      const [former, customerId] = [store.newCustomer(), store.newCustomer()];
      const metadata = { teamId: String(await newTeam()) };
      const events = [
        eventWith(metadata, former, 'canceled', 1_000),
        eventWith(metadata, customerId, 'active', 2_000),
      ];
      for (const event of position === 'first' ? events : events.toReversed()) {
        await openPipeline()([event]);
      }
      expect(await rowOf(Number(metadata.teamId))).toEqual([customerId, 'active']);
    },
  );

  test.each(['first', 'last'])(
    'within a batch, the newest event counts, also if it is %s',
    async (position) => {
      const [customerId, other] = [store.newCustomer(), store.newCustomer()];
      const [former, teamId] = [await newTeam(), await newTeam()];
      const events = [
        eventWith({ teamId: String(teamId) }, other, 'active', 1_000),
        eventWith({ teamId: String(former) }, customerId, 'active', 1_000),
        eventWith({ teamId: String(teamId) }, customerId, 'active', 2_000),
      ].map((event) => ({ ...event, productName: null }));
      await store.database.transaction((query, atCommit) =>
        processBatch(
          { query, atCommit },
          position === 'last' ? events : events.toReversed(),
          OPTIONS,
        ),
      );
      expect(await rowOf(teamId)).toEqual([customerId, 'active']);
      expect(await rowOf(former)).toEqual([null, null]);
    },
  );

  test('an event that names its own team by metadata, but could not be linked, stays unlinked', async () => {
    const [teamId, foreignId] = [await newTeam(), await newTeam(store.newCustomer())];
    const event = {
      ...eventWith({ teamId: String(teamId) }, store.newCustomer()),
      linkToTeamId: foreignId,
    };
    expect(await openPipeline()([event])).toMatchObject([
      { outcome: 'stale', linkRefusal: 'team has another customer' },
    ]);
    expect(await rowOf(teamId)).toEqual([null, null]);
  });
});
