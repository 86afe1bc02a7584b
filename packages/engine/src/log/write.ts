// The values of the statement that writes (write-text.ts).

import type { Statement } from '../postgres/statement.ts';
import { compareIds } from '../rule/plan-selection.ts';
import { writeState } from '../rule/state-json.ts';
import { FACT_COLUMNS, planColumns, timeText } from './customer-columns.ts';
import type { CustomerDecision, EventDecision } from './decide.ts';

export type Write = {
  readonly customers: readonly CustomerDecision[];
  readonly unreadable: readonly EventDecision[];
  /** Whether teams get the names of their plans. */
  readonly isNamed: boolean;
};

export function write(text: string, { customers, unreadable, isNamed }: Write): Statement {
  const events = [...customers.flatMap(({ events }) => events), ...unreadable];
  const inOrder = customers.toSorted((a, b) =>
    compareIds(a.customer.customerId, b.customer.customerId),
  );
  return {
    name: 'write_events',
    text,
    values: [
      // The state is JSON already.
      `[${inOrder.map(customerJson).join(',')}]`,
      JSON.stringify(customers.flatMap(teamRows)),
      JSON.stringify(eventRows(events)),
      Buffer.concat(events.map(({ event }) => event.body)),
      isNamed,
      customers.filter(findsTeam).map(({ customer }) => customer.customerId),
      events.filter(({ isKnown }) => isKnown).map(({ key }) => key),
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

function teamRows({ customer, teams, changedBy }: CustomerDecision) {
  const { cause, eventId, eventCreatedSeconds, operator } = changedBy;
  const change = {
    cause,
    event_id: eventId,
    event_created_at: timeText(eventCreatedSeconds),
    operator: operator?.name,
    action_id: operator?.actionId,
  };
  return teams.map(({ team, plan }) => ({
    team_id: team.id,
    customer_id: customer.customerId,
    ...planColumns(team.plan, '_before'),
    ...(plan !== null && change),
  }));
}

function eventRows(events: readonly EventDecision[]) {
  // PostgreSQL counts from 1.
  let bodyStart = 1;
  return events.map(({ event, key, outcome, withTeam, deliveries }, number) => {
    const { eventId, type, receivedAtMs, body } = event;
    const subscription = event.kind === 'unreadable' ? null : event.subscription;
    const row = {
      ...{ number, key, type, deliveries, outcome },
      event_id: eventId,
      customer_id: subscription?.customerId,
      subscription_id: subscription?.subscriptionId,
      created: subscription?.createdSeconds,
      received_ms: receivedAtMs,
      parked_outcome: withTeam,
      body_start: bodyStart,
      body_bytes: body.byteLength,
    };
    bodyStart += body.byteLength;
    return row;
  });
}
