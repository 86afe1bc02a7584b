import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanSelection } from '../../src/core/plan-selection.ts';
import type { Database } from '../../src/postgres/database.ts';
import { createLogger } from '../../src/runtime/logging.ts';
import { addFaults, noFaults } from '../../src/testing/lifecycle/faults.ts';
import { PRODUCTS } from '../../src/testing/lifecycle/subscription.ts';
import { createRandom } from '../../src/testing/random.ts';
import { signWebhook } from '../../src/testing/sign-webhook.ts';
import { Collection } from '../../src/testing/stripe-api/collection.ts';
import { startStripeApiServer } from '../../src/testing/stripe-api/server.ts';
import type { Failure, LevelOptions, Summary } from '../level.ts';
import { shrinkFailure } from '../shrink-case.ts';
import { auditWorld } from '../store/audit-world.ts';
import { NO_LOSSES } from '../store/losses.ts';
import { keeperTasks } from '../store/maintenance-jobs.ts';
import { atOnce } from '../store/map-concurrently.ts';
import { createRunCase } from '../store/run-case.ts';
import { Account } from '../store/simulated-api.ts';
import { link, openWorld, type StoreWorld } from '../store/store-world.ts';
import { createStoreDoor } from '../store/unreliable-pipeline.ts';
import { Servers } from './servers.ts';

export type HttpLevelOptions = LevelOptions & {
  readonly planSelection: PlanSelection;
  /** A connection of the application's own, to the database that the servers use. */
  readonly database: Database;
  readonly servers: number;
  /** The compiled command, and what it needs to know to use the same database. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The probability, of every delivery, that a server is killed with -9 meanwhile. */
  readonly kill: number;
  readonly now: () => number;
};

const WORLDS_AT_ONCE = 60;
const MAX_UNDER_WAY = 8;
const RETRY_AFTER_MS = 100;

/** So many of the application's connections are used at once. */
const CONNECTIONS = 4;

/** Longer than any server may take to answer. */
const POST_DEADLINE_MS = 30_000;

/** What is left of a divergence by then is shown as it is. */
const SHRINK_DEADLINE_MS = 120_000;

/** The keeper's slowest turn comes every five seconds; a machine may be busy with much else. */
const SETTLE_DEADLINE_MS = 120_000;
const SETTLE_INTERVAL_MS = 500;

const SECRET = 'whsec_of_the_simulation';

/**
 * The level `http`: real servers on one database, signed events posted to any of them, one of them
 * killed now and then, and their own keepers, with a stand-in for Stripe's API.
 */
export async function runHttpLevel(options: HttpLevelOptions): Promise<Summary> {
  const { firstSeed, seeds, planSelection, faults, database } = options;
  const random = createRandom(firstSeed, 4);
  const subscriptions = new Collection();
  const productNames = Object.fromEntries(PRODUCTS.map(({ id, name }) => [id, name]));
  const api = await startStripeApiServer({ productNames, subscriptions });
  const environment = {
    ...options.environment,
    STRIPE_SECRET_KEY: 'sk_test_of_the_simulation',
    STRIPE_WEBHOOK_SECRET: SECRET,
    AUTH_SECRET: 'the secret of the simulation is longer than 32 bytes',
    STRIPE_API_BASE: api.url,
    TEAM_PLAN: planSelection,
    PORT: '0',
    OPS_PORT: 'off',
  };
  const { program } = options;
  const servers = await Servers.start(options.servers, { program, environment }, random);
  const counts = noFaults();
  const sum = { seeds: 0, rounds: 0, customers: 0, events: 0, deliveries: 0, looks: 0 };
  let failure: Failure | null = null;
  let isOver = false;

  async function post(body: string): Promise<boolean> {
    try {
      const response = await fetch(`${servers.anyUrl()}/api/stripe/webhook`, {
        method: 'POST',
        headers: { 'Stripe-Signature': signWebhook(body, SECRET, options.now()) },
        body,
        signal: AbortSignal.timeout(POST_DEADLINE_MS),
      });
      await response.arrayBuffer();
      return response.status === 200;
    } catch {
      // Nobody listens there, or not any more, or it hangs: it is sent again.
      return false;
    }
  }

  async function run(world: StoreWorld): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (const step of world.schedule.steps) {
      if (step.kind !== 'deliver' && step.kind !== 'link') continue;
      const customer = world.customers.get(step.customerId);
      if (customer === undefined) continue;
      const event = step.kind === 'link' ? undefined : customer.events.get(step.number);
      if (event !== undefined) {
        const seenAtMs = Math.floor(step.atMs / 1_000) * 1_000 + 999;
        const { subscriptionId } = event;
        const shown = customer.history.view(subscriptionId, seenAtMs);
        if (shown !== null) subscriptions.set({ ...shown, id: subscriptionId });
        if (random.chance(options.kill)) servers.killOne();
      }
      const work = async () => {
        if (event === undefined) return await link(database.query, customer);
        while (!isOver && !(await post(event.body))) await sleep(RETRY_AFTER_MS);
      };
      const done = work().finally(() => underWay.delete(done));
      underWay.add(done);
      if (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  try {
    for (let first = 0; sum.deliveries < options.deliveries && failure === null; ) {
      const places = Array.from({ length: WORLDS_AT_ONCE }, (_, index) => first + index);
      first += WORLDS_AT_ONCE;
      const worlds = await atOnce(places, CONNECTIONS, (place) => {
        const at = { seed: firstSeed + (place % seeds), round: Math.floor(place / seeds) };
        return openWorld(database.query, { ...at, planSelection, faults, losses: NO_LOSSES });
      });
      await Promise.all(worlds.map(run));
      failure = await settled(worlds, database, options.now);
      for (const { schedule, customers } of worlds) {
        addFaults(counts, schedule.counts);
        sum.rounds += 1;
        sum.customers += customers.size;
        sum.deliveries += schedule.deliveries;
        for (const { history } of customers.values()) sum.events += history.events.length;
      }
      sum.seeds = Math.min(seeds, first);
      options.onProgress?.(sum.deliveries);
    }
  } finally {
    isOver = true;
    await servers.stop();
    await api.close();
  }
  if (failure !== null) failure = await shrinkOnStore(failure, options);
  return { ...sum, kills: servers.kills, counts, digest: 0, failure };
}

/** The fewest events that still diverge, with the same code in this process. */
function shrinkOnStore(failure: Failure, options: HttpLevelOptions): Promise<Failure> {
  const { database, planSelection, now } = options;
  const random = createRandom(failure.seed, 5);
  const account = new Account();
  const logger = createLogger('silent');
  const door = createStoreDoor(database, { planSelection, account, random, logger, now });
  const nonce = () => `nonce_${random.next()}`;
  const { query } = database;
  const tasks = keeperTasks({ query, ingest: door, account, logger, now, nonce });
  const runCase = createRunCase({ database, ingests: [door], account, random, tasks });
  const giveUpAtMs = now() + SHRINK_DEADLINE_MS;
  return shrinkFailure(failure, async (candidate) =>
    now() < giveUpAtMs ? await runCase(candidate) : [],
  );
}

/** Waits until the servers' keepers had their turn. Returns what is still out of step by then. */
async function settled(
  worlds: readonly StoreWorld[],
  database: Database,
  now: () => number,
): Promise<Failure | null> {
  const giveUpAtMs = now() + SETTLE_DEADLINE_MS;
  let open = worlds;
  for (;;) {
    const audits = await atOnce(open, CONNECTIONS, (world) => auditWorld(world, database));
    const failures = audits.filter((found) => found !== null);
    const [failure] = failures;
    if (failure === undefined) return null;
    if (now() > giveUpAtMs) return failure;
    open = open.filter((_, index) => audits[index] !== null);
    await sleep(SETTLE_INTERVAL_MS);
  }
}
