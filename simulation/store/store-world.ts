import type { PlanSelection } from 'instep-engine/rule';
import type { LogEvent } from 'instep-engine/src/log/log-event.ts';
import type { Database } from 'instep-engine/src/postgres/database.ts';
import { parseReadable } from '../core/customer-events.ts';
import { type Schedule, scheduleDeliveries } from '../lifecycle/delivery-schedule.ts';
import type { Faults } from '../lifecycle/faults.ts';
import { type History, renderHistory, type TrueEvent } from '../lifecycle/history.ts';
import { SHAPES } from '../lifecycle/shapes.ts';
import { createRandom, type Random } from '../random.ts';
import {
  apiRevealsOrder,
  createWorld,
  type SimulatedCustomer,
  withUndatedEvents,
} from '../world.ts';
import { Application } from './application.ts';
import { drawLoss, type Loss, type Losses } from './losses.ts';

/** One world on a real database: its customers, their teams and the schedule. */
export type StoreWorld = {
  readonly seed: number;
  readonly round: number;
  readonly planSelection: PlanSelection;
  readonly schedule: Schedule;
  readonly customers: ReadonlyMap<string, StoreCustomer>;
};

export type StoreCustomer = {
  readonly customer: SimulatedCustomer;
  readonly history: History;
  readonly events: ReadonlyMap<number, TrueEvent>;
  /** The same events as a second endpoint receives them, which can have another API version. */
  readonly eventsOfSecondEndpoint: ReadonlyMap<number, TrueEvent>;
  readonly application: Application;
  readonly loss: Loss;
};

type WorldOptions = Pick<StoreWorld, 'seed' | 'round' | 'planSelection'> & {
  readonly faults: Faults;
  readonly losses: Losses;
  /** Whether the times of receipt are simulated, so that some events can lack `created`. */
  readonly hasUndatedEvents?: boolean;
};

/** The probability that a customer's events reach two endpoints. */
const SECOND_ENDPOINT = 0.3;

/** Creates a world whose teams are not linked yet. */
export async function openWorld(
  database: Database,
  { seed, round, planSelection, faults, losses, hasUndatedEvents = false }: WorldOptions,
): Promise<StoreWorld> {
  const customers = new Map<string, StoreCustomer>();
  const random = createRandom(seed, 6, round);
  const world = createWorld(seed, `${seed}x${round}`);
  for (const customer of hasUndatedEvents ? withUndatedEvents(world, seed) : world) {
    const loss = drawLoss(customer, losses, random);
    const history = renderHistory(customer.lifecycle, customer.format);
    const application = await Application.open(database, history);
    const second = random.chance(SECOND_ENDPOINT) ? inAnyVersion(customer, random) : history;
    customers.set(history.customerId, {
      customer,
      history,
      events: byNumber(history),
      eventsOfSecondEndpoint: byNumber(second),
      application,
      loss,
    });
  }
  const all = [...customers.values()].flatMap(({ history }) => history.events);
  const schedule = scheduleDeliveries(all, faults, createRandom(seed, 2, round));
  const steps = schedule.steps.filter(
    (step) =>
      step.kind !== 'deliver' || !customers.get(step.customerId)?.loss.numbers.has(step.number),
  );
  const deliveries = steps.filter(({ kind }) => kind === 'deliver').length;
  return { seed, round, planSelection, schedule: { ...schedule, steps, deliveries }, customers };
}

function byNumber({ events }: History): StoreCustomer['events'] {
  return new Map(events.map((event) => [event.number, event]));
}

/**
 * The events of a customer that the API lists: all of them when some are dropped, otherwise none, so
 * that catch-up can't hide another loss. The list can be in another API version's format than the
 * delivered events.
 */
export function listedHistory({ customer, loss }: StoreCustomer, random: Random): History | null {
  return loss.kind === 'dropped' ? inAnyVersion(customer, random) : null;
}

/**
 * The same events in any API version's format. This is only possible where the API alone reveals the order,
 * because states in two formats can't be compared, and where ids are Stripe's own.
 */
function inAnyVersion({ lifecycle, format }: SimulatedCustomer, random: Random): History {
  const { shape, hasSharedIds, hasUndatedEvents = false } = format;
  const isOfStripe = !hasSharedIds && !hasUndatedEvents;
  const canDiffer = isOfStripe && shape !== 'ancient' && apiRevealsOrder(lifecycle);
  const shapes = canDiffer ? SHAPES.filter((one) => one !== 'ancient') : [format.shape];
  return renderHistory(lifecycle, { ...format, shape: random.pick(shapes) });
}

/** The event as the endpoint passes it to the ingest pipeline. */
export function received(event: TrueEvent, receivedAtMs: number): LogEvent {
  const { body } = event;
  const readable = parseReadable({ ...event, atMs: receivedAtMs });
  return { ...readable, body: Buffer.from(body), receivedAtMs, source: 'delivery' };
}
