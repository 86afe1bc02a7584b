import fc from 'fast-check';
import type { ApplicationId } from 'instep';
import type { Difference } from 'instep/operate';
import { describe, expect, test } from 'vitest';
import type { Ingest } from '../support/internals/ingest.ts';
import { pruneLog, replayEvents, searchLog } from '../support/internals/repair.ts';
import { readTeam } from '../support/internals/rows.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { rebuildTeams } from '../support/service/rebuilding.ts';
import { openSettleJobs } from '../support/service/settle-jobs.ts';
import { eventBody, received } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const { signal } = new AbortController();
const RUNS = repetitions(6, 12);
const CREATED = 1_700_000_000;
/** Everything in these tests was received before this time. */
const CUTOFF_MS = (CREATED + 1_000_000) * 1_000;

type Store = ReturnType<typeof useDatabase>;

const prune = ({ database: { query } }: Store, cutoffMs = CUTOFF_MS) =>
  pruneLog({ query, cutoffMs }, signal);

/** Few different seconds, so that many events share one; and everything that makes an event unusual. */
const anyEvent = fc.record({
  second: fc.option(fc.nat({ max: 4 }), { freq: 3 }),
  id: fc.option(fc.constantFrom('evt_1', 'evt_2', 'evt_3', 'evt_4'), { freq: 8 }),
  subscription: fc.constantFrom('sub_1', 'sub_1', 'sub_2'),
  status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due'),
  replaced: fc.option(fc.constantFrom('active', 'trialing', 'canceled', 'past_due')),
  isReadable: fc.constantFrom(true, true, true, true, false),
});

const anyAction = fc.oneof(
  { weight: 16, arbitrary: fc.nat().map((index) => ({ kind: 'deliver' as const, index })) },
  { weight: 4, arbitrary: fc.constant({ kind: 'prune' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'link' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'unlink' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'ingest parked' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'replay' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'rebuild' as const }) },
);

const anyStory = fc.record({
  isLinked: fc.constantFrom(true, true, true, false),
  events: fc.array(anyEvent, { minLength: 3, maxLength: 8 }),
  actions: fc.array(anyAction, { minLength: 20, maxLength: 40 }),
});

type DrawnEvent = typeof anyEvent extends fc.Arbitrary<infer Event> ? Event : never;

function bodyOf(drawn: DrawnEvent, customerId: string): string {
  const { id, second, subscription, status, replaced } = drawn;
  const event = JSON.parse(
    eventBody({
      customerId,
      subscriptionId: `${subscription}_of_${customerId}`,
      status,
      ...(replaced && { previousAttributes: { status: replaced } }),
    }),
  );
  event.id = id;
  event.created = second === null ? null : CREATED + second;
  if (!drawn.isReadable) event.data.object.customer = null;
  return JSON.stringify(event);
}

/** A team in its own database. The same actions are applied to a second team in another database. */
class World {
  readonly store: Store;
  readonly ingest: Ingest;
  readonly customerId: string;
  readonly teamId: ApplicationId;

  constructor(store: Store, ingest: Ingest, customerId: string, teamId: ApplicationId) {
    this.store = store;
    this.ingest = ingest;
    this.customerId = customerId;
    this.teamId = teamId;
  }

  static async open(store: Store, ingest: Ingest, customerId: string): Promise<World> {
    // Events of an earlier story would otherwise be replayed as well.
    await store.database.query('truncate instep.events, instep.customers');
    const { teamId } = await store.addTeam();
    return new World(store, ingest, customerId, teamId);
  }

  async link(isLinked: boolean): Promise<void> {
    await this.store.database.query('update teams set provider_customer_id = $2 where id = $1', [
      this.teamId,
      isLinked ? this.customerId : null,
    ]);
  }

  async replay(): Promise<void> {
    const { ingest } = this;
    const { query } = this.store.database;
    const all = searchLog(query, {}, 'oldest first');
    for await (const { error } of replayEvents(all, { ingest, query })) expect(error).toBeNull();
  }

  async rebuild(
    planSelection: 'newest' | 'best',
    isDryRun: boolean,
  ): Promise<Omit<Difference, 'teamId'>[]> {
    const { teamId } = this;
    const found = await rebuildTeams(this.store.database, { planSelection, teamId, isDryRun });
    return found.map(({ teamId: _, ...difference }) => difference);
  }

  async plan() {
    return (await readTeam(this.store.database.query, this.teamId))?.plan;
  }
}

describe.each(postgresServers)('$name', (server) => {
  const whole = useDatabase(server);
  const pruned = useDatabase(server);

  test('pruning at any moment changes no team, whatever events arrive afterward', async () => {
    const pipelines = [openPipeline(whole.database), openPipeline(pruned.database)] as const;
    let deleted = 0;
    const property = fc.asyncProperty(anyStory, async ({ isLinked, events, actions }) => {
      const customerId = whole.newCustomer();
      const worlds = [
        await World.open(whole, pipelines[0], customerId),
        await World.open(pruned, pipelines[1], customerId),
      ] as const;
      for (const world of worlds) await world.link(isLinked);
      const bodies = events.map((event) => bodyOf(event, customerId));

      for (const [turn, action] of actions.entries()) {
        for (const world of worlds) {
          switch (action.kind) {
            case 'deliver': {
              const body = bodies[action.index % bodies.length] ?? '';
              await world.ingest([received(body, (CREATED + 100 + 2 * turn) * 1_000)]);
              break;
            }
            case 'prune':
              if (world === worlds[1]) deleted += await prune(pruned);
              break;
            case 'link':
            case 'unlink':
              await world.link(action.kind === 'link');
              break;
            case 'ingest parked':
              await openSettleJobs(world.store.database).parkedEvents(signal);
              break;
            case 'replay':
              await world.replay();
              break;
            case 'rebuild':
              await world.rebuild('newest', false);
              break;
          }
        }
        expect(await worlds[1].plan()).toEqual(await worlds[0].plan());
      }
      for (const planSelection of ['newest', 'best'] as const) {
        expect(await worlds[1].rebuild(planSelection, true)).toEqual(
          await worlds[0].rebuild(planSelection, true),
        );
      }
    });
    await fc.assert(property, { numRuns: RUNS });
    expect(deleted).toBeGreaterThan(0);
  });
});
