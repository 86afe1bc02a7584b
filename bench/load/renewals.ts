import { createRandom, type Random } from '../../simulation/random.ts';
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

/** Shares of all deliveries. */
const DUPLICATES = 0.05;
const LATE = 0.02;
/** The share of events in pairs within one second, whose own values leave their order open. */
const AMBIGUOUS = 0.01;
/** The share of the other events that change their team; the rest are plain renewals. */
const CHANGES = 0.1;

/** The number of deliveries that overtake a late event. */
const LATE_BY = 1_000;
/** A duplicate repeats one of this many recent deliveries. */
const REPEATABLE = 1_000;

/**
 * An endless sequence of realistic deliveries: nearly all events are renewals, a few customers have most of
 * them (Zipf's law), and some events arrive twice, late, or share a second with another one.
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
      // A late event must not end up in the second of a pair.
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

/** The second team has half as many events as the first one, the third team a third, and so on. */
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

/** Two events of one second: a change to the other status, and back. */
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

/** What a system must have stored after a number of deliveries. */
type RenewalsResult = {
  /** The number of events without duplicates. */
  readonly events: number;
  /** The newest event of each customer with events. */
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
    // The second event of a pair has the greater id.
    if (known === undefined || known.eventId < value.eventId) newest.set(value.team, value);
  }
  return { events: eventIds.size, newest: [...newest.values()] };
}
