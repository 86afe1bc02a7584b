import { type ApplicationId, createLogger } from 'instep';
import { describe, expect, test } from 'vitest';
import { linksByMetadata } from '../support/internals/ingest.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openWholePipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

describe.each(postgresServers)('with LINK_BY_METADATA on $name', (server) => {
  const store = useDatabase(server);
  const lines: string[] = [];

  function openPipeline(linkByMetadata: string | null = 'teamId', database = store.database) {
    const logger = createLogger('info', { write: (line) => lines.push(line) });
    const linking = { database, logger, key: linkByMetadata, deadlineMs: 60_000 };
    const onUnlinked = linksByMetadata({ ...linking, keyMode: 'test' });
    return openWholePipeline(database, { logger, onUnlinked }).ingest;
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
    expect(await openPipeline()([event])).toMatchObject([
      { outcome: 'applied', teamIds: [teamId] },
    ]);
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
    let hasLinked = false;
    const older = openPipeline('teamId', {
      ...store.database,
      async transaction(work, options) {
        if (!hasLinked) await newer([eventOf('trialing', 2_000)]);
        hasLinked = true;
        return await store.database.transaction(work, options);
      },
    });
    const results = await older([eventOf('active', 1_000)]);
    // Its customer was settled by the other instance.
    expect(results).toMatchObject([{ outcome: 'applied', teamIds: [teamId] }]);
    expect(await rowOf(teamId)).toEqual([customerId, 'trialing']);
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

  test('of two teams that the events of a batch name, a free one gets the customer', async () => {
    const [customerId, other] = [store.newCustomer(), store.newCustomer()];
    const teams = [await newTeam(), await newTeam(other)];
    const events = teams.map((teamId) => eventWith({ teamId: String(teamId) }, customerId));
    await openPipeline()([eventWith({}, store.newCustomer()), ...events.toReversed()]);
    expect(await Promise.all(teams.map(rowOf))).toEqual([
      [customerId, 'active'],
      [other, null],
    ]);
  });
});
