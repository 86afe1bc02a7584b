import { type ApplicationId, createLogger } from 'instep';
import { expect } from 'vitest';
import { expectedTeam } from '../../../simulation/expected-team.ts';
import { type History, renderHistory } from '../../../simulation/lifecycle/history.ts';
import { createRandom } from '../../../simulation/random.ts';
import { maintenanceJobs, readAmbiguous } from '../../../simulation/store/maintenance-jobs.ts';
import { SimulatedApi } from '../../../simulation/store/simulated-api.ts';
import { received } from '../../../simulation/store/store-world.ts';
import { createWorld } from '../../../simulation/world.ts';
import type { Database } from '../../support/internals/database.ts';
import { addTeam, readTeam } from '../../support/internals/rows.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { openWholePipeline } from '../../support/service/pipelines.ts';
import { CrashPlan, type CrashPoint } from '../crash-plan.ts';
import { type Scenario, turnsOf } from '../scenario.ts';

const LINK = 'update teams set provider_customer_id = $2 where id = $1';

const SIDES = ['before', 'after'] as const;

export const everyAwait: Scenario = {
  fault:
    'the process crashes before or after each await in the ingest pipeline and in maintenance, ' +
    'once per run',
  promise: 'everything acknowledged is stored, nothing is done twice, and every team is correct',
  times: { quick: 1, short: 1, long: 40 },
  async run(options) {
    const { database } = await createDatabase();
    const figures = { runs: 0, crashes: 0, acknowledged: 0, lost: 0 };
    for (const done of turnsOf(options)) {
      for (const side of SIDES) {
        for (let at = 1, hasCrashed = true; hasCrashed; at += 1) {
          const run = new Life(database, { at, side }, done);
          hasCrashed = await run.live();
          figures.runs += 1;
          figures.crashes += hasCrashed ? 1 : 0;
          figures.acknowledged += run.history.events.length;
        }
      }
    }
    await database.close();
    return figures;
  },
};

let runs = 0;
/** With fewer events, half a batch could be lost without an effect on the team. */
const EVENTS = 6;
/** The first event is a batch of its own, while the others form the next. */
const BATCH = 3;

/** The n-th short history with a second that only the API can order. */
function historyWithAmbiguousSecond(n: number, name: string): History {
  let found = 0;
  for (let seed = 1; ; seed += 1) {
    for (const { lifecycle, format } of createWorld(seed, `${name}_${seed}`)) {
      const changes = lifecycle.changes.slice(0, EVENTS);
      const history = renderHistory({ ...lifecycle, changes }, { ...format, hasSharedIds: false });
      const seconds = history.events.map(
        (event) => `${event.subscriptionId} ${event.createdSeconds}`,
      );
      const hasTie = !format.hasPreviousAttributes && new Set(seconds).size < seconds.length;
      if (!hasTie || changes.length < EVENTS) continue;
      found += 1;
      if (found === n) return history;
    }
  }
}

/** A customer's events, some in one second without a known cause; the team is linked in between. */
class Life {
  readonly history: History;
  readonly #database: Database;
  readonly #account = new SimulatedApi();
  readonly #random = createRandom(5);
  #plan: CrashPlan;
  #hasCrashed = false;

  constructor(database: Database, point: CrashPoint, seed: number) {
    runs += 1;
    this.history = historyWithAmbiguousSecond(seed, `await_${runs}`);
    this.#account.add(this.history);
    this.#database = database;
    this.#plan = new CrashPlan(point);
  }

  /** Returns whether the process died. Afterward every team is correct. */
  async live(): Promise<boolean> {
    const { customerId, events } = this.history;
    const { query } = this.#database;
    const teamId = await addTeam(query, { name: customerId, customerId: null });
    const backward = events.toReversed();
    for (let index = 0; index < backward.length; index += BATCH) {
      if (index + BATCH >= backward.length / 2) await query(LINK, [teamId, customerId]);
      const batch = backward.slice(index, index + BATCH);
      for (const { subscriptionId } of batch) {
        this.#account.advanceTo(subscriptionId, Number.MAX_SAFE_INTEGER - 1_000);
      }
      // A stored event that is sent again is a duplicate.
      await this.#untilDone(({ ingest }) => ingest(batch.map(received)));
    }
    for (let turn = 0; turn < 3; turn += 1) {
      const { signal } = new AbortController();
      await this.#untilDone(async ({ tasks }) => {
        for (const { run } of tasks) await run(signal);
      });
    }
    await this.#audit(teamId);
    return this.#hasCrashed;
  }

  async #untilDone(work: (process: ReturnType<Life['start']>) => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await work(this.start());
        return;
      } catch (error) {
        if (!this.#plan.isOver) throw error;
        this.#hasCrashed = true;
        // As if time had passed: a lease outlives its process by seconds.
        await this.#database.query('update instep.leased_jobs set held_until = now()');
        this.#plan = new CrashPlan({ at: Number.POSITIVE_INFINITY, side: 'before' });
      }
    }
  }

  /** The state of a process, which is lost when the process dies. */
  start() {
    const plan = this.#plan;
    const account = this.#account;
    const database = plan.database(this.#database);
    const api = {
      retrieveProductName: (id: string) => plan.outside(() => account.retrieveProductName(id)),
      retrieveSubscription: (id: string) => plan.outside(() => account.retrieveSubscription(id)),
    };
    const { ingest, settle } = openWholePipeline(database, { api });
    const tasks = maintenanceJobs({
      database,
      query: database.query,
      planSelection: 'newest',
      ingest,
      settle,
      api,
      logger: createLogger('silent'),
      now: Date.now,
      nonce: () => `nonce_${this.#random.next()}`,
    });
    return { ingest, tasks };
  }

  async #audit(teamId: ApplicationId): Promise<void> {
    const { customerId, events } = this.history;
    const { query } = this.#database;
    expect((await readTeam(query, teamId))?.plan).toEqual(expectedTeam(events, 'newest'));
    const logged = await query<{ event_id: string }>(
      `select event_id
         from instep.events
        where customer_id = $1
          and outcome <> 'parked'
          and type like 'customer.%'`,
      [customerId],
    );
    expect(logged.map(({ event_id }) => event_id).sort()).toEqual(
      events.map(({ eventId }) => eventId).sort(),
    );
    expect(await readAmbiguous(query)).toEqual([]);
  }
}
