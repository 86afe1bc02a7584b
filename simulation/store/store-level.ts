import type { PlanSelection } from '../../src/core/plan-selection.ts';
import type { Ingest } from '../../src/ingest/pipeline.ts';
import { startMaintenance } from '../../src/maintenance/worker.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Logger } from '../../src/runtime/logging.ts';
import { addFaults, noFaults } from '../../src/testing/lifecycle/faults.ts';
import { createRandom } from '../../src/testing/random.ts';
import { choiceOfRound } from '../core/core-level.ts';
import type { Failure, LevelOptions, Summary } from '../level.ts';
import { shrinkFailure } from '../shrink-case.ts';
import { auditWorld } from './audit-world.ts';
import { createCatchUp, reconcileCustomers } from './catch-up-and-reconcile.ts';
import type { Losses } from './losses.ts';
import { keeperTasks, settle } from './maintenance-jobs.ts';
import { atOnce } from './map-concurrently.ts';
import { createPruneTask } from './prune-job.ts';
import { createRunCase } from './run-case.ts';
import { runWorld } from './run-world.ts';
import { Account } from './simulated-api.ts';
import { listedHistory, openWorld, type StoreWorld } from './store-world.ts';
import { createStoreDoor } from './unreliable-pipeline.ts';

export type StoreLevelOptions = LevelOptions & {
  /** Opens one more pool of connections to a database that is migrated. */
  readonly open: () => Database;
  /** How many acceptors there are, each with connections of its own. */
  readonly acceptors: number;
  readonly losses: Losses;
  readonly logger: Logger;
  readonly now: () => number;
};

export type StoreSummary = Summary & {
  /** How many events were never delivered, and only listed. */
  readonly dropped: number;
  /** How many were not even listed any more. */
  readonly forgotten: number;
};

/** So many worlds are delivered at the same time. */
const WORLDS_AT_ONCE = 60;

/** So many of a pool's connections are used at once. */
const CONNECTIONS = 4;

/**
 * The level `store`: the one door, several of them at once, on a real PostgreSQL, with the keeper
 * running beside them, while the log is pruned of all that it need not keep. Which of two
 * transactions comes first is not ours to say, so that two runs of a seed may differ in that.
 */
export async function runStoreLevel(options: StoreLevelOptions): Promise<StoreSummary> {
  const { open, faults, losses } = options;
  const random = createRandom(options.firstSeed, 3);
  const database = open();
  const pools = Array.from({ length: options.acceptors }, open);
  const account = new Account();
  const acceptors = new Map<PlanSelection, readonly Ingest[]>();
  for (const planSelection of ['newest', 'best'] as const) {
    acceptors.set(
      planSelection,
      pools.map((pool) => createStoreDoor(pool, { ...options, planSelection, account, random })),
    );
  }
  const counts = noFaults();
  const sum = { seeds: 0, rounds: 0, customers: 0, events: 0, deliveries: 0, looks: 0, kills: 0 };
  const lost = { none: 0, dropped: 0, forgotten: 0 };
  let failure: Failure | null = null;

  try {
    for (const batch of batches(options)) {
      const worlds: readonly StoreWorld[] = await atOnce(batch, CONNECTIONS, (place) =>
        openWorld(database.query, { ...place, faults, losses }),
      );
      const customers = worlds.flatMap((world) => [...world.customers.values()]);
      for (const customer of customers) {
        account.add(customer.history, listedHistory(customer, random));
        lost[customer.loss.kind] += customer.loss.numbers.size;
      }
      const planSelection = worlds[0]?.planSelection ?? 'newest';
      const ingests = acceptors.get(planSelection) ?? [];
      const [ingest] = ingests;
      if (ingest === undefined) break;
      const nonce = () => `nonce_${random.next()}`;
      const keeping = { query: database.query, ingest, account, ...options, nonce };
      const pruning = createPruneTask(database.query, options.now);
      const tasks = [...keeperTasks(keeping), pruning];

      const keeper = startMaintenance([...tasks, createCatchUp(keeping)], {
        logger: options.logger,
      });
      await Promise.all(
        worlds.map((world) => runWorld(world, { query: database.query, ingests, account, random })),
      );
      await keeper.stop();
      account.isOut = false;
      account.end();
      // A walk that was stopped would go on without what has come since it began.
      await settle([...tasks, createCatchUp(keeping)], database.query);
      const drifting = await reconcileCustomers(customers, { ...keeping, database, planSelection });
      await settle(tasks, database.query);

      for (const world of worlds) {
        addFaults(counts, world.schedule.counts);
        sum.rounds += 1;
        sum.customers += world.customers.size;
        sum.deliveries += world.schedule.deliveries;
        for (const { history } of world.customers.values()) sum.events += history.events.length;
      }
      const audits = await atOnce(worlds, CONNECTIONS, (world) =>
        auditWorld(world, database, drifting),
      );
      const found = audits.find((audit) => audit !== null);
      if (found !== undefined) {
        const runCase = createRunCase({ database, ingests, account, random, tasks });
        failure = await shrinkFailure(found, runCase);
      }
      for (const { history } of customers) account.remove(history);
      sum.seeds = Math.max(sum.seeds, ...batch.map(({ seed }) => seed - options.firstSeed + 1));
      options.onProgress?.(sum.deliveries);
      if (failure !== null || sum.deliveries >= options.deliveries) break;
    }
  } finally {
    await Promise.all([database, ...pools].map((pool) => pool.close()));
  }
  const { dropped, forgotten } = lost;
  return { ...sum, dropped, forgotten, counts, digest: 0, failure };
}

type Place = Pick<StoreWorld, 'seed' | 'round' | 'planSelection'>;

/** Seeds in their order, again and again; the worlds of one batch have the same setting. */
function* batches({
  firstSeed,
  seeds,
  planSelection,
}: StoreLevelOptions): Generator<readonly Place[]> {
  for (let batch = 0; ; batch += 1) {
    yield Array.from({ length: WORLDS_AT_ONCE }, (_, index) => {
      const place = batch * WORLDS_AT_ONCE + index;
      return {
        seed: firstSeed + (place % seeds),
        round: Math.floor(place / seeds),
        planSelection: planSelection ?? choiceOfRound(batch),
      };
    });
  }
}
