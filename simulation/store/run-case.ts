import type { Ingest } from '../../src/ingest/pipeline.ts';
import type { Job } from '../../src/maintenance/worker.ts';
import type { Database } from '../../src/postgres/database.ts';
import { noFaults } from '../../src/testing/lifecycle/faults.ts';
import type { Subscription } from '../../src/testing/lifecycle/subscription.ts';
import type { Random } from '../../src/testing/random.ts';
import type { Case, RunCase } from '../shrink.ts';
import { auditWorld } from './audit-world.ts';
import { NO_LOSS } from './losses.ts';
import { settle } from './maintenance-jobs.ts';
import { runWorld } from './run-world.ts';
import type { SimulatedApi } from './simulated-api.ts';
import { addCustomer, type StoreWorld } from './store-world.ts';

export type RunCaseOptions = {
  readonly database: Database;
  readonly ingests: readonly Ingest[];
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly jobs: readonly Job[];
};

/** A race does not diverge every time. */
const ATTEMPTS = 3;

/** Runs one customer's case repeatedly on a real database, each time with new ids. */
export function createRunCase(options: RunCaseOptions): RunCase {
  const { database, ingests, api, random, jobs } = options;
  const { query } = database;
  let attempts = 0;

  async function attempt(candidate: Case) {
    attempts += 1;
    const { customer, steps, planSelection } = renameIds(candidate, `again_${attempts}`);
    const added = await addCustomer(query, customer, NO_LOSS);
    const { history } = added;
    const world: StoreWorld = {
      seed: 0,
      round: 0,
      planSelection,
      schedule: { steps, deliveries: 0, counts: noFaults() },
      customers: new Map([[history.customerId, added]]),
    };
    api.add(history);
    await runWorld(world, { query, ingests, api, random });
    api.isDown = false;
    await settle(jobs, query);
    api.remove(history);
    return (await auditWorld(world, database))?.divergences ?? [];
  }

  return async (candidate) => {
    for (let left = ATTEMPTS; left > 1; left -= 1) {
      const divergences = await attempt(candidate);
      if (divergences.length > 0) return divergences;
    }
    return await attempt(candidate);
  };
}

function renameIds({ customer, steps, planSelection }: Case, suffix: string): Case {
  const { lifecycle } = customer;
  const rename = (id: string) => `${id}_${suffix}`;
  const renamed = (subscription: Subscription): Subscription => ({
    ...subscription,
    id: rename(subscription.id),
    customerId: rename(subscription.customerId),
  });
  const initial = [...lifecycle.initialStates.values()].map(renamed);
  const changes = lifecycle.changes.map((change) => ({
    ...change,
    subscription: renamed(change.subscription),
  }));
  return {
    planSelection,
    customer: {
      ...customer,
      lifecycle: {
        customerId: rename(lifecycle.customerId),
        initialStates: new Map(initial.map((subscription) => [subscription.id, subscription])),
        changes,
      },
    },
    steps: steps.map((step) =>
      'customerId' in step ? { ...step, customerId: rename(step.customerId) } : step,
    ),
  };
}
