// The values of the statement that writes (write-text.ts).

import type { Statement } from '../postgres/statement.ts';
import { planColumns, timeText } from '../postgres/teams-table.ts';
import type { ChangeCause } from '../rule/plan-change.ts';
import { writeState } from '../rule/state-json.ts';
import { FACT_COLUMNS } from './customer-columns.ts';
import type { CustomerDecision, EventDecision } from './decide.ts';
import type { ReadableLogEvent } from './log-event.ts';

/** The customers are in the order of their ids. `isNamed`: whether teams get the names of their plans. */
export function write(
  text: string,
  customers: readonly CustomerDecision[],
  unreadable: readonly EventDecision[],
  isNamed: boolean,
): Statement {
  const events = [...customers.flatMap(({ events }) => events), ...unreadable];
  return {
    name: 'write_events',
    text,
    values: [
      // The state is JSON already.
      `[${customers.map(customerJson).join(',')}]`,
      JSON.stringify(customers.flatMap(teamRows)),
      JSON.stringify(eventRows(events)),
      Buffer.concat(events.map(({ event }) => event.body)),
      isNamed,
      customers.filter(findsTeam).map(({ customer }) => customer.customerId),
    ],
  };
}

/** Whether events waited for a team that is there now. */
export function findsTeam({ customer: { waiting, teams } }: CustomerDecision): boolean {
  return waiting !== null && teams.length > 0;
}

function customerJson(decision: CustomerDecision): string {
  const { customer, state, plan } = decision;
  const row: Record<string, unknown> = planColumns(plan);
  row.customer_id = customer.customerId;
  row.version = customer.version + 1;
  for (const [name, read] of Object.entries(FACT_COLUMNS)) row[name] = read(decision) ?? undefined;
  return `${JSON.stringify(row).slice(0, -1)},"subscriptions":${writeState(state)}}`;
}

function teamRows({ customer, teams, changedBy, options }: CustomerDecision) {
  const { operator } = changedBy ?? options;
  const given = changedBy === null ? options.cause : causeOf(changedBy);
  const change = {
    event_key: changedBy?.key,
    event_id: changedBy?.eventId,
    event_created_at: timeText(changedBy?.subscription.createdSeconds),
    operator: operator?.name,
    action_id: operator?.actionId,
  };
  return teams.map(({ team, plan, isNameless }) => ({
    team_id: team.id,
    customer_id: customer.customerId,
    ...planColumns(team.plan, '_before'),
    ...(plan !== null && { ...change, cause: given ?? (isNameless ? 'name' : 'link') }),
  }));
}

function causeOf(event: ReadableLogEvent): ChangeCause {
  return event.changeCause ?? (event.kind === 'snapshot' ? 'snapshot' : 'event');
}

function eventRows(events: readonly EventDecision[]) {
  // PostgreSQL counts from 1.
  let bodyStart = 1;
  return events.map(({ event, key, outcome, parkedOutcome, deliveries }, number) => {
    const { eventId, type, receivedAtMs, body } = event;
    const subscription = event.kind === 'unreadable' ? null : event.subscription;
    const row = {
      ...{ number, key, type, deliveries, outcome },
      event_id: eventId,
      customer_id: subscription?.customerId,
      subscription_id: subscription?.subscriptionId,
      created: subscription?.createdSeconds,
      received_ms: receivedAtMs,
      parked_outcome: parkedOutcome,
      body_start: bodyStart,
      body_bytes: body.byteLength,
    };
    bodyStart += body.byteLength;
    return row;
  });
}
