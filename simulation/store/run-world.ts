import type { Ingest } from '../../src/ingest/pipeline.ts';
import type { Query } from '../../src/postgres/database.ts';
import type { Random } from '../../src/testing/random.ts';
import type { Account } from './simulated-api.ts';
import { link, received, type StoreWorld } from './store-world.ts';
import { isTemporary } from './unreliable-database.ts';

export type RunOptions = {
  readonly query: Query;
  readonly ingests: readonly Ingest[];
  readonly account: Account;
  readonly random: Random;
};

/** So many deliveries of one world are under way at the same time. */
const MAX_UNDER_WAY = 24;

/** Delivers a world's schedule, each event to any of the doors, several of them at once. */
export async function runWorld(world: StoreWorld, options: RunOptions): Promise<void> {
  const { query, ingests, account, random } = options;
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];

  async function start(work: () => Promise<void>): Promise<void> {
    const done = work()
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(done));
    underWay.add(done);
    if (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay);
  }

  for (const step of world.schedule.steps) {
    if (step.kind !== 'deliver' && step.kind !== 'link') continue;
    const customer = world.customers.get(step.customerId);
    if (customer === undefined) continue;
    if (step.kind === 'link') {
      await start(() => link(query, customer));
      continue;
    }
    const event = customer.events.get(step.number);
    if (event === undefined) continue;
    account.isOut = !step.hasApi;
    account.tell(event.subscriptionId, Math.max(event.atMs, step.atMs));
    await start(() => deliver(random.pick(ingests)));

    /** Whoever is not answered sends it again. */
    async function deliver(ingest: Ingest): Promise<void> {
      if (event === undefined) return;
      for (;;) {
        try {
          await ingest([received(event)]);
          return;
        } catch (error) {
          if (!isTemporary(error)) throw error;
        }
      }
    }
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}
