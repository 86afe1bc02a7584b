import { type ApplicationId, createLogger } from 'instep';
import { describe, expect, test } from 'vitest';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { linkByMetadata, openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

describe.each(postgresServers)('with LINK_BY_METADATA on $name', (server) => {
  const store = useDatabase(server);
  /** Ingests events, and links as the job of maintenance does. */
  async function ingestAndLink(...events: ReturnType<typeof eventWith>[]): Promise<void> {
    await openPipeline(store.database)(events);
    await linkByMetadata(store.database);
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
    const ingest = openPipeline(store.database);
    const event = eventWith({ teamId: String(teamId) }, customerId);
    expect(await ingest([event])).toMatchObject([{ outcome: 'parked' }]);
    let lines = '';
    const write = (line: string) => {
      lines += line;
    };
    await linkByMetadata(store.database, createLogger('info', { write }));
    expect(await rowOf(teamId)).toEqual([customerId, 'active']);
    expect(lines).toContain('team linked by metadata');
    expect(await store.logOf(customerId)).toMatchObject([{ outcome: 'applied' }]);
    expect(await ingest([event])).toMatchObject([{ outcome: 'duplicate' }]);
  });

  test('a team that has another customer is never changed', async () => {
    const own = store.newCustomer();
    const teamId = await newTeam(own);
    await ingestAndLink(eventWith({ teamId: String(teamId) }, store.newCustomer()));
    expect(await rowOf(teamId)).toEqual([own, null]);
  });

  test('a customer that has a team stays with it', async () => {
    const customerId = store.newCustomer();
    const [own, other] = [await newTeam(customerId), await newTeam()];
    await ingestAndLink(eventWith({ teamId: String(other) }, customerId));
    expect(await rowOf(own)).toEqual([customerId, 'active']);
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
    await ingestAndLink(eventWith(metadata, store.newCustomer()));
    expect(await rowOf(teamId)).toEqual([null, null]);
  });

  test('of two customers that name one team, one gets it, also if two instances link', async () => {
    const teamId = await newTeam();
    const customers = [store.newCustomer(), store.newCustomer()];
    const events = customers.map((one) => eventWith({ teamId: String(teamId) }, one));
    await openPipeline(store.database)(events);
    await Promise.all([linkByMetadata(store.database), linkByMetadata(store.openAnother())]);
    const outcomes = await Promise.all(customers.map((one) => store.logOf(one)));
    expect(
      outcomes
        .flat()
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['applied', 'parked']);
  });

  test('if the application refuses a link, others are linked', async () => {
    const { query } = store.database;
    const [teamId, otherId] = [await newTeam(), await newTeam()];
    await query(`
      create function refuse() returns trigger language plpgsql as
      $$begin raise exception 'refused'; end$$;
      create trigger refuse before update on teams for each row
        when (old.id = ${teamId}) execute function refuse()`);
    const customers = [store.newCustomer(), store.newCustomer()] as const;
    await ingestAndLink(
      eventWith({ teamId: String(teamId) }, customers[0]),
      eventWith({ teamId: String(otherId) }, customers[1]),
    );
    await query('drop trigger refuse on teams; drop function refuse');
    expect(await rowOf(teamId)).toEqual([null, null]);
    expect(await rowOf(otherId)).toEqual([customers[1], 'active']);
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
        await ingestAndLink(event);
      }
      expect(await rowOf(Number(metadata.teamId))).toEqual([customerId, 'active']);
    },
  );

  test('of two teams that the events of a batch name, a free one gets the customer', async () => {
    const [customerId, other] = [store.newCustomer(), store.newCustomer()];
    const teams = [await newTeam(), await newTeam(other)];
    const events = teams.map((teamId) => eventWith({ teamId: String(teamId) }, customerId));
    await ingestAndLink(eventWith({}, store.newCustomer()), ...events.toReversed());
    expect(await Promise.all(teams.map(rowOf))).toEqual([
      [customerId, 'active'],
      [other, null],
    ]);
  });
});
