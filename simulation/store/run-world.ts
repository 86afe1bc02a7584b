import type { Random } from '../random.ts';
import { isApplicationStep } from './application.ts';
import type { CatchUpOptions } from './catch-up-and-reconcile.ts';
import type { Pipeline } from './fleet.ts';
import type { SimulatedApi } from './simulated-api.ts';
import { received, type StoreWorld } from './store-world.ts';
import { untilAvailable } from './until-available.ts';

type RunOptions = {
  readonly pipelines: readonly Pipeline[];
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly maintained: CatchUpOptions & { readonly api: SimulatedApi };
};

const MAX_IN_FLIGHT = 24;

/** Delivers a world's schedule, each event to any of the pipelines, several at a time. */
export async function runWorld(world: StoreWorld, options: RunOptions): Promise<void> {
  const { pipelines, api, random, maintained } = options;
  const inFlight = new Set<Promise<void>>();
  const failures: unknown[] = [];

  async function start(work: () => Promise<unknown>): Promise<void> {
    const done = work()
      .catch((error: unknown) => failures.push(error))
      .then(() => void inFlight.delete(done));
    inFlight.add(done);
    if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
  }

  for (const step of world.schedule.steps) {
    const isOfApplication = isApplicationStep(step) || step.kind === 'redirect';
    if (step.kind !== 'deliver' && !isOfApplication) continue;
    const customer = world.customers.get(step.customerId);
    if (customer === undefined) continue;
    if (step.kind === 'redirect') {
      if (!step.isApiUp) continue;
      const { ingest, settle } = random.pick(pipelines);
      const services = { ...maintained, ingest, settle, nameOf: api.retrieveProductName };
      await start(() => customer.application.complete(step, services));
      continue;
    }
    if (step.kind !== 'deliver') {
      await start(() => customer.application.run(step));
      continue;
    }
    const endpoint = random.pick([customer.events, customer.eventsOfSecondEndpoint]);
    const event = endpoint.get(step.number);
    if (event === undefined) continue;
    api.isDown = !step.isApiUp;
    api.advanceTo(event.subscriptionId, Math.max(event.atMs, step.atMs));
    const { ingest, clockSkewMs } = random.pick(pipelines);
    const receivedAtMs = Math.floor(step.atMs) + clockSkewMs;
    await start(() => untilAvailable(() => ingest([received(event, receivedAtMs)])));
  }
  await Promise.all(inFlight);
  if (failures.length > 0) throw failures[0];
}
