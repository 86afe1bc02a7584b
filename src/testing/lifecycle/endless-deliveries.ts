import type { Random } from '../random.ts';
import { generateLifecycle } from './customer-lifecycle.ts';
import { scheduleDeliveries } from './delivery-schedule.ts';
import type { Faults } from './faults.ts';
import { renderHistory } from './history.ts';
import type { JsonObject } from './json.ts';
import type { Shape } from './shapes.ts';
import { scaleTime, type TimeScale } from './time-scale.ts';

type EndlessDeliveriesOptions = {
  readonly customerId: string;
  readonly startMs: number;
  /** Maps the times of the lifecycle to those of the events. */
  readonly timeScale: TimeScale;
  readonly shape: Shape;
  readonly faults: Faults;
};

/** An event, the time of its delivery, and the subscription as the API returns it at that time. */
export type EndlessDelivery = {
  readonly atMs: number;
  readonly body: string;
  readonly subscription: JsonObject & { readonly id: string };
};

const MAX_CHANGES = 24;
const PAUSE_MS = 3 * 24 * 60 * 60 * 1_000;

/** The deliveries of a customer who always subscribes again: one lifecycle after the other. */
export function* endlessDeliveries(
  options: EndlessDeliveriesOptions,
  random: Random,
): Generator<EndlessDelivery, never> {
  const { customerId, timeScale, shape, faults } = options;
  const format = { shape, hasSharedIds: false, hasPreviousAttributes: true };
  let { startMs } = options;
  let nextNumber = 0;
  for (;;) {
    const firstNumber = nextNumber;
    const generated = generateLifecycle({ customerId, startMs, maxChanges: MAX_CHANGES }, random);
    // Event ids contain the numbers, so a later lifecycle continues the numbers of the earlier one.
    const changes = generated.changes.map((one) => ({ ...one, number: firstNumber + one.number }));
    const history = renderHistory(scaleTime({ ...generated, changes }, timeScale), format);
    const events = new Map(history.events.map((event) => [event.number, event]));
    const deliverables = changes.map((change) => ({ ...change, customerId }));
    const { steps } = scheduleDeliveries(deliverables, faults, random);
    for (const step of steps) {
      const event = step.kind === 'deliver' ? events.get(step.number) : undefined;
      if (event === undefined) continue;
      const atMs = timeScale(step.atMs);
      const id = event.subscriptionId;
      // The API already shows everything that happened within the event's second.
      const state = history.stateAt(id, Math.floor(atMs / 1_000) * 1_000 + 999);
      yield { atMs, body: event.body, subscription: { ...state, id } };
    }
    nextNumber += changes.length;
    startMs = Math.max(startMs, ...steps.map(({ atMs }) => atMs)) + PAUSE_MS;
  }
}

/** Merges the deliveries of several customers, ordered by time. */
export function* mergeInOrder(
  customers: readonly Generator<EndlessDelivery, never>[],
): Generator<EndlessDelivery, never> {
  const next = customers.map((deliveries) => ({
    deliveries,
    delivery: deliveries.next().value,
  }));
  for (;;) {
    const first = next.reduce((one, other) =>
      other.delivery.atMs < one.delivery.atMs ? other : one,
    );
    yield first.delivery;
    first.delivery = first.deliveries.next().value;
  }
}
