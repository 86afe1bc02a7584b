import type { Random } from '../random.ts';
import { liveCustomer } from './customer-lifecycle.ts';
import { scheduleDeliveries } from './delivery-schedule.ts';
import type { Faults } from './faults.ts';
import { tellLife } from './history.ts';
import type { JsonObject } from './json.ts';
import type { Shape } from './shapes.ts';
import type { CustomerLife } from './subscription.ts';
import { atPace, type Clock } from './time-scale.ts';

export type EndlessLifeOptions = {
  readonly customerId: string;
  /** When it begins, by the clock that lives are lived by. */
  readonly startMs: number;
  /** Tells that clock's times as those of the events. */
  readonly clock: Clock;
  readonly shape: Shape;
  readonly faults: Faults;
};

/** An event that comes at this time, and what the API says of its subscription then. */
export type EndlessDelivery = {
  readonly atMs: number;
  readonly body: string;
  readonly subscription: JsonObject & { readonly id: string };
};

const MAX_MOMENTS = 24;
const PAUSE_MS = 3 * 24 * 60 * 60 * 1_000;

/** What is delivered of a customer who never leaves for good: one life after the other. */
export function* liveEndlessly(
  options: EndlessLifeOptions,
  random: Random,
): Generator<EndlessDelivery, never> {
  const { customerId, clock, shape, faults } = options;
  let { startMs } = options;
  let firstNumber = 0;
  for (;;) {
    const life = numberedFrom(
      firstNumber,
      liveCustomer({ customerId, startMs, maxMoments: MAX_MOMENTS }, random),
    );
    const telling = { shape, hasSharedIds: false, namesReplaced: true };
    const history = tellLife(atPace(life, clock), telling);
    const events = new Map(history.events.map((event) => [event.number, event]));
    const deliverables = life.moments.map((moment) => ({ ...moment, customerId }));
    const { steps } = scheduleDeliveries(deliverables, faults, random);
    for (const step of steps) {
      const event = step.kind === 'deliver' ? events.get(step.number) : undefined;
      if (event === undefined) continue;
      const atMs = clock(step.atMs);
      const id = event.subscriptionId;
      // Of a second that something was delivered of, all has happened.
      const shown = history.view(id, Math.floor(atMs / 1_000) * 1_000 + 999);
      yield { atMs, body: event.body, subscription: { ...shown, id } };
    }
    firstNumber += life.moments.length;
    startMs = Math.max(startMs, ...steps.map(({ atMs }) => atMs)) + PAUSE_MS;
  }
}

/** What is delivered of several customers, in the order in which it comes. */
export function* inOrder(
  lives: readonly Generator<EndlessDelivery, never>[],
): Generator<EndlessDelivery, never> {
  const next = lives.map((life) => ({ life, delivery: life.next().value }));
  for (;;) {
    const first = next.reduce((one, other) =>
      other.delivery.atMs < one.delivery.atMs ? other : one,
    );
    yield first.delivery;
    first.delivery = first.life.next().value;
  }
}

/** Numbers name events: those of a later life must not be those of an earlier one. */
function numberedFrom(first: number, life: CustomerLife): CustomerLife {
  const moments = life.moments.map((moment) => ({ ...moment, number: first + moment.number }));
  return { ...life, moments };
}
