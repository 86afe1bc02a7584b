import { createRandom, type Random } from '../../src/testing/random.ts';
import {
  customerIdOf,
  type EventContent,
  eventIdOf,
  invoiceIdOf,
  otherStatus,
  PLANS,
  priceIdOf,
  productIdOf,
  STATUSES,
  secondOf,
  subscriptionIdOf,
} from './subscription-event.ts';

/** Of all deliveries. */
const DUPLICATES = 0.05;
const LATE = 0.02;
/** Of all events: pairs within one second whose order only the seconds around them show. */
const AMBIGUOUS = 0.01;
/** Of all events; the others change nothing in the team. */
const CHANGES = 0.1;

/** How many deliveries a late event arrives behind its place. */
const LATE_BY = 1_000;
/** A duplicate repeats one of so many deliveries. */
const REPEATABLE = 1_000;

/**
 * Deliveries as in reality, without end: nearly all events are renewals, a few customers have most of
 * them (Zipf's law), and some arrive twice, late, or in one second with another one.
 */
export function* renewals(teams: number): Generator<EventContent, never> {
  const random = createRandom(teams);
  const newest = new Map<number, EventContent>();
  const late: { readonly content: EventContent; readonly due: number }[] = [];
  const lateTeams = new Set<number>();
  const recent: EventContent[] = [];
  let delivered = 0;

  function deliver(content: EventContent): EventContent {
    recent[delivered % REPEATABLE] = content;
    delivered += 1;
    return content;
  }

  for (let number = 0; ; ) {
    const [first] = late;
    if (first !== undefined && delivered >= first.due) {
      late.shift();
      lateTeams.delete(first.content.team);
      yield deliver(first.content);
    } else if (recent.length > 0 && random.chance(DUPLICATES)) {
      yield deliver(random.pick(recent));
    } else {
      const team = pickTeam(teams, random);
      const before = newest.get(team);
      // A late event can be the one that shows the order of a pair.
      if (before !== undefined && !lateTeams.has(team) && random.chance(AMBIGUOUS / 2)) {
        const [there, back] = pairAfter(before, number);
        number += 2;
        newest.set(team, back);
        yield deliver(there);
        yield deliver(back);
        continue;
      }
      const content = eventAfter(before, { number, team, isChange: random.chance(CHANGES) });
      number += 1;
      newest.set(team, content);
      if (random.chance(LATE)) {
        late.push({ content, due: delivered + LATE_BY });
        lateTeams.add(team);
      } else yield deliver(content);
    }
  }
}

/** The first team has the most events, the second one half as many, the third one a third, … */
function pickTeam(teams: number, random: Random): number {
  return Math.floor((teams + 1) ** random.next());
}

type NextEvent = { readonly number: number; readonly team: number; readonly isChange: boolean };

/** A renewal, or a change of the status and of the product. */
function eventAfter(
  before: EventContent | undefined,
  { number, team, isChange }: NextEvent,
): EventContent {
  const formerStatus = before?.status ?? STATUSES[0];
  const status = isChange ? otherStatus(formerStatus) : formerStatus;
  const plan = number % PLANS.length;
  return {
    eventId: eventIdOf(number),
    team,
    createdSeconds: secondAfter(before, number),
    customerId: customerIdOf(team),
    subscriptionId: subscriptionIdOf(team),
    status,
    priceId: isChange || before === undefined ? priceIdOf(plan) : before.priceId,
    productId: isChange || before === undefined ? productIdOf(plan) : before.productId,
    invoiceId: invoiceIdOf(number),
    previousAttributes: {
      latest_invoice: before?.invoiceId ?? null,
      ...(isChange && { status: formerStatus }),
    },
  };
}

/** The other status and back within one second. */
function pairAfter(before: EventContent, number: number): [EventContent, EventContent] {
  const createdSeconds = secondAfter(before, number);
  const status = otherStatus(before.status);
  const previousAttributes = { status: before.status };
  return [
    { ...before, createdSeconds, eventId: eventIdOf(number), status, previousAttributes },
    {
      ...before,
      createdSeconds,
      eventId: eventIdOf(number + 1),
      previousAttributes: { status },
    },
  ];
}

function secondAfter(before: EventContent | undefined, number: number): number {
  return Math.max(secondOf(number), (before?.createdSeconds ?? 0) + 1);
}

/** What so many deliveries lead to. */
export type RenewalsResult = {
  /** How many different events they were. */
  readonly events: number;
  /** The newest event of each customer that has one. */
  readonly newest: readonly EventContent[];
};

export function resultOfRenewals(deliveries: number, teams: number): RenewalsResult {
  const eventIds = new Set<string>();
  const newest = new Map<number, EventContent>();
  const all = renewals(teams);
  for (let count = 0; count < deliveries; count += 1) {
    const { value } = all.next();
    eventIds.add(value.eventId);
    const known = newest.get(value.team);
    // Of a pair, the event with the greater id is the second one.
    if (known === undefined || known.eventId < value.eventId) newest.set(value.team, value);
  }
  return { events: eventIds.size, newest: [...newest.values()] };
}
