import { isDeepStrictEqual } from 'node:util';
import type { LoggedOutcome } from '../store/events.ts';
import type { LinkedTeam } from '../store/teams.ts';
import type { ReadableEvent } from '../stripe/parse-event.ts';
import { type Customer, follow, UNKNOWN_CUSTOMER } from '../subscriptions/customer.ts';
import type { SubscriptionEvent } from '../subscriptions/subscription-event.ts';
import type { TeamPlan } from '../subscriptions/transition.ts';
import type { ReceivedEvent, Result } from './received-event.ts';

/** What the database says of a batch of events, while the teams are locked. */
export type Known = {
  readonly teams: readonly LinkedTeam[];
  readonly customers: ReadonlyMap<string, Customer>;
  readonly outcomes: ReadonlyMap<string, LoggedOutcome>;
};

/** What a batch of events does: an answer for each of them, and all that is to be written. */
export type Decision = {
  readonly results: readonly Result[];
  readonly outcomes: ReadonlyMap<string, LoggedOutcome>;
  readonly subscriptions: readonly SubscriptionEvent[];
  readonly plans: ReadonlyMap<number, TeamPlan>;
};

/** Decides on events in the order of their arrival. Pure: the same in, the same out. */
export function decide(events: readonly ReceivedEvent[], known: Known): Decision {
  const followers = teamIdsByCustomer(known.teams);
  const customers = new Map(known.customers);
  const outcomes = new Map(known.outcomes);
  const plans = new Map<number, TeamPlan>();

  function decideOn(event: ReadableEvent, teamIds: readonly number[]): LoggedOutcome {
    const { customerId } = event.subscription;
    if (teamIds.length === 0) return 'parked';
    const step = follow(customers.get(customerId) ?? UNKNOWN_CUSTOMER, event.subscription);
    customers.set(customerId, step.customer);
    if (step.verdict === 'applied') for (const id of teamIds) plans.set(id, step.plan);
    return step.verdict;
  }

  const results = events.map((event): Result => {
    const earlier = outcomes.get(event.key);
    if (event.kind === 'unreadable') {
      outcomes.set(event.key, 'unreadable');
      return { outcome: earlier === undefined ? 'unreadable' : 'duplicate', teamIds: [] };
    }
    const teamIds = followers.get(event.subscription.customerId) ?? [];
    // A parked event did nothing yet: when it comes again, it is decided on again.
    if (earlier !== undefined && earlier !== 'parked') return { outcome: 'duplicate', teamIds };
    const outcome = decideOn(event, teamIds);
    outcomes.set(event.key, outcome);
    return { outcome, teamIds };
  });

  for (const team of known.teams) {
    if (isDeepStrictEqual(plans.get(team.id), team.plan)) plans.delete(team.id);
  }
  return { results, outcomes, plans, subscriptions: changed(customers, known.customers) };
}

function teamIdsByCustomer(teams: readonly LinkedTeam[]): Map<string, number[]> {
  const followers = new Map<string, number[]>();
  for (const { id, customerId } of teams) {
    followers.set(customerId, [...(followers.get(customerId) ?? []), id]);
  }
  return followers;
}

function changed(
  customers: ReadonlyMap<string, Customer>,
  before: Known['customers'],
): SubscriptionEvent[] {
  return [...customers].flatMap(([customerId, customer]) => {
    const known = before.get(customerId) ?? UNKNOWN_CUSTOMER;
    return [...customer.values()].filter((event) => known.get(event.subscriptionId) !== event);
  });
}
