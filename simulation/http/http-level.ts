import { setTimeout as sleep } from 'node:timers/promises';
import { startFakeStripeApi } from 'instep/src/testing/fake-stripe-api.ts';
import { signWebhook } from 'instep/src/testing/stripe-objects.ts';
import type { PlanSelection } from 'instep-engine/rule';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import { runCoreCase } from '../core/core-round.ts';
import { emptySummary, type Failure, type LevelOptions, type Summary } from '../level.ts';
import { PRODUCTS } from '../lifecycle/subscription.ts';
import { mapConcurrently } from '../map-concurrently.ts';
import { createRandom } from '../random.ts';
import { shrinkFailure } from '../shrink.ts';
import { allowSharedCustomers, isApplicationStep } from '../store/application.ts';
import { checkWorld } from '../store/check-world.ts';
import { NO_LOSSES } from '../store/losses.ts';
import { countWorlds } from '../store/store-level.ts';
import { openWorld, type StoreWorld } from '../store/store-world.ts';
import { Servers } from './servers.ts';

type HttpLevelOptions = LevelOptions & {
  readonly planSelection: PlanSelection;
  /** The application's own connections to the servers' database. */
  readonly database: Database;
  readonly servers: number;
  /** The compiled command, and the environment with which it uses the same database. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The probability that a server is killed with -9 during a delivery. */
  readonly kill: number;
  readonly now: () => number;
};

const CONCURRENT_WORLDS = 60;
const MAX_IN_FLIGHT = 8;
const RETRY_AFTER_MS = 100;

/** The number of the application's connections in use at a time. */
const CONNECTIONS = 4;

/** Longer than a server can take to respond. */
const POST_DEADLINE_MS = 30_000;

/** The slowest maintenance job runs every five seconds; a busy machine takes longer. */
const SETTLE_DEADLINE_MS = 120_000;
const SETTLE_INTERVAL_MS = 500;

const SECRET = 'whsec_of_the_simulation';

/**
 * The level `http`: real servers on one database with their own maintenance and a stand-in for
 * Stripe's API. Signed events are posted to any of them, and sometimes one is killed.
 */
export async function runHttpLevel(options: HttpLevelOptions): Promise<Summary> {
  const { firstSeed, seeds, planSelection, database, program } = options;
  // The stand-in only knows the present state of a subscription.
  const faults = { ...options.faults, redirect: 0 };
  const random = createRandom(firstSeed, 4);
  const productNames = Object.fromEntries(PRODUCTS.map(({ id, name }) => [id, name]));
  /** The times of the worlds that run. A snapshot of any of them must not be newer than its later events. */
  const clocksMs = new Map<StoreWorld, number>();
  const clockMs = () => (clocksMs.size === 0 ? options.now() : Math.min(...clocksMs.values()));
  const stripe = await startFakeStripeApi({ productNames, clockMs });
  const environment = {
    ...options.environment,
    STRIPE_SECRET_KEY: 'sk_test_of_the_simulation',
    STRIPE_WEBHOOK_SECRET: SECRET,
    AUTH_SECRET: 'the secret of the simulation is longer than 32 bytes',
    STRIPE_API_BASE: stripe.url,
    // The stand-in returns the present state, but the simulated events happened in the past.
    RECONCILE_INTERVAL: 'off',
    TEAM_PLAN: planSelection,
    PORT: '0',
    OPS_PORT: 'off',
  };
  await allowSharedCustomers(database.query);
  const servers = await Servers.start(options.servers, { program, environment }, random);
  const sum = emptySummary();
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
      // The server is gone or hangs.
      return false;
    }
  }

  async function run(world: StoreWorld): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    for (const step of world.schedule.steps) {
      clocksMs.set(world, step.atMs);
      if (step.kind !== 'deliver' && !isApplicationStep(step)) continue;
      const customer = world.customers.get(step.customerId);
      if (customer === undefined) continue;
      const event = step.kind === 'deliver' ? customer.events.get(step.number) : undefined;
      if (event !== undefined) {
        const { subscriptionId: id } = event;
        const endOfSecondMs = Math.floor(step.atMs / 1_000) * 1_000 + 999;
        const subscription = customer.history.stateAt(id, endOfSecondMs);
        if (subscription !== null) stripe.subscriptions.set({ ...subscription, id });
        if (random.chance(options.kill)) servers.killOne();
      }
      const work = async () => {
        if (step.kind !== 'deliver') return await customer.application.run(step);
        if (event === undefined) return;
        while (!isOver && !(await post(event.body))) await sleep(RETRY_AFTER_MS);
      };
      const done = work().finally(() => inFlight.delete(done));
      inFlight.add(done);
      if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
    }
    await Promise.all(inFlight);
    clocksMs.delete(world);
  }

  try {
    for (let first = 0; sum.deliveries < options.deliveries && sum.failure === null; ) {
      const places = Array.from({ length: CONCURRENT_WORLDS }, (_, index) => first + index);
      first += CONCURRENT_WORLDS;
      const worlds = await mapConcurrently(places, CONNECTIONS, (place) => {
        const at = { seed: firstSeed + (place % seeds), round: Math.floor(place / seeds) };
        return openWorld(database, { ...at, planSelection, faults, losses: NO_LOSSES });
      });
      await Promise.all(worlds.map(run));
      sum.failure = await settle(worlds, database);
      countWorlds(sum, worlds);
      sum.seeds = Math.min(seeds, first);
      options.onProgress?.(sum.deliveries);
    }
  } finally {
    isOver = true;
    await servers.stop();
    await stripe.close();
  }
  if (sum.failure !== null) sum.failure = await shrinkFailure(sum.failure, runCoreCase);
  return { ...sum, kills: servers.kills };
}

/**
 * Waits until the servers' maintenance has repaired every team. Returns a remaining failure at the deadline.
 */
async function settle(worlds: readonly StoreWorld[], database: Database): Promise<Failure | null> {
  const deadlineMs = performance.now() + SETTLE_DEADLINE_MS;
  let open = worlds;
  for (;;) {
    const failures = await mapConcurrently(open, CONNECTIONS, (world) =>
      checkWorld(world, database),
    );
    const failure = failures.find((found) => found !== null);
    if (failure === undefined) return null;
    if (performance.now() > deadlineMs) return failure;
    open = open.filter((_, index) => failures[index] !== null);
    await sleep(SETTLE_INTERVAL_MS);
  }
}
