import { storePolicy } from 'instep/src/access/team-access.ts';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import type { Logger } from 'instep-engine/src/runtime/logging.ts';
import { planSelectionOfRound } from '../core/core-level.ts';
import { runCoreCase } from '../core/core-round.ts';
import { emptySummary, type LevelOptions, type Summary } from '../level.ts';
import { addFaults } from '../lifecycle/faults.ts';
import { mapConcurrently } from '../map-concurrently.ts';
import { createRandom } from '../random.ts';
import { shrinkFailure } from '../shrink.ts';
import { allowSharedCustomers } from './application.ts';
import { createCatchUpJob, reconcileCustomers } from './catch-up-and-reconcile.ts';
import { checkWorld } from './check-world.ts';
import type { Fleet, FleetOptions } from './fleet.ts';
import type { Losses } from './losses.ts';
import { createPruneJob, maintenanceJobs, runUntilSettled } from './maintenance-jobs.ts';
import { runWorld } from './run-world.ts';
import { SimulatedApi } from './simulated-api.ts';
import { listedHistory, openWorld, type StoreWorld } from './store-world.ts';

type StoreLevelOptions = LevelOptions & {
  /** Opens another connection pool to a migrated database. */
  readonly open: () => Database;
  readonly openFleet: (options: FleetOptions) => Fleet;
  readonly losses: Losses;
  readonly logger: Logger;
  readonly now: () => number;
};

type StoreSummary = Summary & {
  /** The events that were never delivered, only listed. */
  readonly dropped: number;
  /** The events that were neither delivered nor listed. */
  readonly forgotten: number;
};

const CONCURRENT_WORLDS = 60;

/** The number of a pool's connections in use at a time. */
const CONNECTIONS = 4;

/**
 * The levels `store` and `cluster`: several ingest pipelines on a real PostgreSQL, with the maintenance
 * jobs beside them, while the log is pruned of everything that it doesn't need. PostgreSQL decides
 * which of two transactions comes first, so two runs of a seed can differ.
 */
export async function runStoreLevel(options: StoreLevelOptions): Promise<StoreSummary> {
  const { open, faults, losses, logger } = options;
  const random = createRandom(options.firstSeed, 3);
  const database = open();
  const { query } = database;
  const api = new SimulatedApi();
  const fleet = options.openFleet({ open, api, random, logger });
  const sum = emptySummary();
  const lost = { none: 0, dropped: 0, forgotten: 0 };

  try {
    await allowSharedCustomers(query);
    for (const batch of batches(options)) {
      const worlds: readonly StoreWorld[] = await mapConcurrently(batch, CONNECTIONS, (place) =>
        openWorld(database, { ...place, faults, losses, hasUndatedEvents: true }),
      );
      const customers = worlds.flatMap((world) => [...world.customers.values()]);
      for (const customer of customers) {
        api.add(customer.history, listedHistory(customer, random));
        lost[customer.loss.kind] += customer.loss.numbers.size;
      }
      const planSelection = worlds[0]?.planSelection ?? 'newest';
      const pipelines = fleet.pipelines(planSelection);
      const [first] = pipelines;
      if (first === undefined) break;
      const { ingest, settle } = first;
      await storePolicy(query, { planSelection, pastDueGraceMs: null });
      const nonce = () => `nonce_${random.next()}`;
      const { now } = options;
      const services = { database, query, ingest, settle, planSelection };
      const maintained = { ...services, api, logger, now, nonce };
      const jobs = [...maintenanceJobs(maintained), createPruneJob(maintained)];

      const stop = fleet.run(maintained);
      await Promise.all(
        worlds.map((world) => runWorld(world, { pipelines, api, random, maintained })),
      );
      await stop();
      api.isDown = false;
      api.advanceToEnd();
      // A new job, because a stopped catch-up would continue without the events listed since it began.
      await runUntilSettled([...jobs, createCatchUpJob(maintained)], query);
      const drifting = await reconcileCustomers(customers, maintained);
      await runUntilSettled(jobs, query);

      countWorlds(sum, worlds);
      const failures = await mapConcurrently(worlds, CONNECTIONS, (world) =>
        checkWorld(world, database, drifting),
      );
      const found = failures.find((failure) => failure !== null);
      if (found !== undefined) sum.failure = await shrinkFailure(found, runCoreCase);
      for (const { history } of customers) api.remove(history);
      sum.seeds = Math.max(sum.seeds, ...batch.map(({ seed }) => seed - options.firstSeed + 1));
      options.onProgress?.(sum.deliveries);
      if (sum.failure !== null || sum.deliveries >= options.deliveries) break;
    }
  } finally {
    await fleet.close();
    await database.close();
  }
  const { dropped, forgotten } = lost;
  return { ...sum, dropped, forgotten, ...fleet.counts() };
}

/** Adds delivered worlds to a summary. */
export function countWorlds(
  sum: ReturnType<typeof emptySummary>,
  worlds: readonly StoreWorld[],
): void {
  for (const { schedule, customers } of worlds) {
    addFaults(sum.counts, schedule.counts);
    sum.rounds += 1;
    sum.customers += customers.size;
    sum.deliveries += schedule.deliveries;
    for (const { history } of customers.values()) sum.events += history.events.length;
  }
}

type Place = Pick<StoreWorld, 'seed' | 'round' | 'planSelection'>;

/** The seeds in order, repeatedly. The worlds of one batch have the same plan selection. */
function* batches(options: StoreLevelOptions): Generator<readonly Place[]> {
  const { firstSeed, seeds, planSelection } = options;
  for (let batch = 0; ; batch += 1) {
    yield Array.from({ length: CONCURRENT_WORLDS }, (_, index) => {
      const place = batch * CONCURRENT_WORLDS + index;
      return {
        seed: firstSeed + (place % seeds),
        round: Math.floor(place / seeds),
        planSelection: planSelection ?? planSelectionOfRound(batch),
      };
    });
  }
}
