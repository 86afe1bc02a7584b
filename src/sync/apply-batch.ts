import type { Query } from '../database/database.ts';
import { type LogEntry, logEvents, readOutcomes } from '../store/events.ts';
import { readCustomers, writeSubscriptions } from '../store/subscriptions.ts';
import { lockTeams, writePlans } from '../store/teams.ts';
import { type Decision, decide } from './decide.ts';
import type { ReceivedEvent, Result } from './received-event.ts';

/**
 * Does all that a batch of events does, within one transaction and in a fixed number of round
 * trips: lock the teams, read what is known, decide, write. The results in the events' order.
 *
 * The lock comes first: whoever holds a customer's team decides alone on the customer's events,
 * and what is read after it is what the last one who held it has left.
 */
export async function applyBatch(
  query: Query,
  events: readonly ReceivedEvent[],
): Promise<readonly Result[]> {
  const customerIds = new Set(events.flatMap(customerOf));
  const teams = await lockTeams(query, [...customerIds]);
  const [outcomes, customers] = await Promise.all([
    readOutcomes(query, [...new Set(events.map(({ key }) => key))]),
    readCustomers(query, [...new Set(teams.map(({ customerId }) => customerId))]),
  ]);

  const decision = decide(events, { teams, outcomes, customers });

  await Promise.all([
    logEvents(query, logEntries(events, decision)),
    ...(decision.subscriptions.length > 0
      ? [writeSubscriptions(query, decision.subscriptions)]
      : []),
    ...(decision.plans.size > 0 ? [writePlans(query, decision.plans)] : []),
  ]);
  return decision.results;
}

/** One entry for each event, however often it stands in the batch. */
function logEntries(events: readonly ReceivedEvent[], { outcomes }: Decision): LogEntry[] {
  const entries = new Map<string, LogEntry>();
  for (const event of events) {
    const entry = entries.get(event.key);
    if (entry === undefined) entries.set(event.key, logEntry(event, outcomes));
    else entries.set(event.key, { ...entry, deliveries: entry.deliveries + 1 });
  }
  return [...entries.values()];
}

function logEntry(event: ReceivedEvent, outcomes: Decision['outcomes']): LogEntry {
  const outcome = outcomes.get(event.key);
  if (outcome === undefined) throw new RangeError(`event ${event.key} was not decided on`);
  const { key, eventId, type, receivedAtMs, body } = event;
  const subscription = event.kind === 'readable' ? event.subscription : null;
  return {
    key,
    eventId,
    type,
    customerId: subscription?.customerId ?? null,
    subscriptionId: subscription?.subscriptionId ?? null,
    createdSeconds: subscription?.createdSeconds ?? null,
    receivedAtMs,
    outcome,
    body,
    deliveries: 1,
  };
}

function customerOf(event: ReceivedEvent): string[] {
  return event.kind === 'readable' ? [event.subscription.customerId] : [];
}
