import type { Ingest } from '../../src/ingest/pipeline.ts';
import type { Job } from '../../src/maintenance/worker.ts';
import type { Database } from '../../src/postgres/database.ts';
import { addTeam } from '../../src/queries/teams.ts';
import { noFaults } from '../../src/testing/lifecycle/faults.ts';
import { tellLife } from '../../src/testing/lifecycle/history.ts';
import type { CustomerLife, Subscription } from '../../src/testing/lifecycle/subscription.ts';
import type { Random } from '../../src/testing/random.ts';
import type { Case, RunCase } from '../shrink-case.ts';
import { auditWorld } from './audit-world.ts';
import { NO_LOSS } from './losses.ts';
import { settle } from './maintenance-jobs.ts';
import { runWorld } from './run-world.ts';
import type { Account } from './simulated-api.ts';
import type { StoreWorld } from './store-world.ts';

export type RunCaseOptions = {
  readonly database: Database;
  readonly ingests: readonly Ingest[];
  readonly account: Account;
  readonly random: Random;
  readonly tasks: readonly Job[];
};

/** What depends on who comes first does not diverge every time. */
const ATTEMPTS = 3;

/** Lives one customer's case again and again on a real database, each time as another customer. */
export function createRunCase(options: RunCaseOptions): RunCase {
  const { database, ingests, account, random, tasks } = options;
  let attempts = 0;

  async function attempt(candidate: Case) {
    attempts += 1;
    const { told, steps, planSelection } = renamed(candidate, `again_${attempts}`);
    const { customerId } = told.life;
    const history = tellLife(told.life, told.telling);
    const events = new Map(history.events.map((event) => [event.number, event]));
    const teamId = await addTeam(database.query, { name: customerId, customerId: null });
    const world: StoreWorld = {
      seed: 0,
      round: 0,
      planSelection,
      schedule: { steps, deliveries: 0, counts: noFaults() },
      customers: new Map([[customerId, { told, history, events, teamId, loss: NO_LOSS }]]),
    };
    account.add(history);
    await runWorld(world, { query: database.query, ingests, account, random });
    account.isOut = false;
    await settle(tasks, database.query);
    account.remove(history);
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

/** The same case with ids that nobody has had before. */
function renamed({ told, steps, planSelection }: Case, suffix: string): Case {
  const rename = (id: string) => `${id}_${suffix}`;
  const of = (subscription: Subscription): Subscription => ({
    ...subscription,
    id: rename(subscription.id),
    customerId: rename(subscription.customerId),
  });
  const { life } = told;
  const renamedLife: CustomerLife = {
    customerId: rename(life.customerId),
    begun: new Map([...life.begun.values()].map(of).map((begun) => [begun.id, begun])),
    moments: life.moments.map((moment) => ({ ...moment, subscription: of(moment.subscription) })),
  };
  return {
    planSelection,
    told: { ...told, life: renamedLife },
    steps: steps.map((step) =>
      'customerId' in step ? { ...step, customerId: rename(step.customerId) } : step,
    ),
  };
}
