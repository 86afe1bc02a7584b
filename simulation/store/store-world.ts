import type { PlanSelection } from '../../src/core/plan-selection.ts';
import type { ReceivedEvent } from '../../src/ingest/received-event.ts';
import type { Query } from '../../src/postgres/database.ts';
import { addTeam, linkTeam } from '../../src/queries/teams.ts';
import { parseEvent } from '../../src/stripe/parse-event.ts';
import {
  type Schedule,
  scheduleDeliveries,
} from '../../src/testing/lifecycle/delivery-schedule.ts';
import type { Faults } from '../../src/testing/lifecycle/faults.ts';
import { type History, type TrueEvent, tellLife } from '../../src/testing/lifecycle/history.ts';
import { SHAPES } from '../../src/testing/lifecycle/shapes.ts';
import { createRandom, type Random } from '../../src/testing/random.ts';
import { SimulationBroken } from '../core/customer-events.ts';
import { canApiTellOrder, createWorld, type Told } from '../world.ts';
import { type Loss, type Losses, lose } from './losses.ts';
import { isTemporary } from './unreliable-database.ts';

/** One world on a real database: its customers, their teams, and what is to happen. */
export type StoreWorld = {
  readonly seed: number;
  readonly round: number;
  readonly planSelection: PlanSelection;
  readonly schedule: Schedule;
  readonly customers: ReadonlyMap<string, StoreCustomer>;
};

export type StoreCustomer = {
  readonly told: Told;
  readonly history: History;
  readonly events: ReadonlyMap<number, TrueEvent>;
  readonly teamId: number;
  readonly loss: Loss;
};

export type WorldOptions = Pick<StoreWorld, 'seed' | 'round' | 'planSelection'> & {
  readonly faults: Faults;
  readonly losses: Losses;
};

/** Makes a world, with teams that are not linked yet. */
export async function openWorld(
  query: Query,
  { seed, round, planSelection, faults, losses }: WorldOptions,
): Promise<StoreWorld> {
  const customers = new Map<string, StoreCustomer>();
  const random = createRandom(seed, 6, round);
  for (const told of createWorld(seed, `${seed}x${round}`)) {
    const { customerId } = told.life;
    const history = tellLife(told.life, told.telling);
    const events = new Map(history.events.map((event) => [event.number, event]));
    const teamId = await addTeam(query, { name: customerId, customerId: null });
    const loss = lose(told, losses, random);
    customers.set(customerId, { told, history, events, teamId, loss });
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

/**
 * What the API lists of a customer's events: of one whose events are dropped all, and otherwise none,
 * so that nothing else that gets lost is brought back. In the words of another version than the
 * endpoint's, as it may be; but between the words of two versions nothing tells what followed what.
 */
export function listedHistory({ told, loss }: StoreCustomer, random: Random): History | null {
  const { life, telling } = told;
  if (loss.kind !== 'dropped') return null;
  const hasOtherWords = telling.shape !== 'ancient' && canApiTellOrder(life);
  const shapes = hasOtherWords ? SHAPES.filter((one) => one !== 'ancient') : [telling.shape];
  return tellLife(life, { ...telling, shape: random.pick(shapes) });
}

/** Makes a customer's team follow it, as soon as the application gets a connection. */
export async function link(query: Query, customer: StoreCustomer): Promise<void> {
  for (;;) {
    try {
      await linkTeam(query, customer.teamId, customer.told.life.customerId);
      return;
    } catch (error) {
      if (!isTemporary(error)) throw error;
    }
  }
}

/** The event as the endpoint would hand it to the one door. */
export function received({ body, atMs, number }: TrueEvent): ReceivedEvent {
  const event = parseEvent(body, { receivedAtMs: atMs, nonce: () => `nonce_${number}` });
  if (event.kind !== 'readable') throw new SimulationBroken(`an event was ${event.kind}: ${body}`);
  return { ...event, body: Buffer.from(body), receivedAtMs: atMs, source: 'delivery' };
}
