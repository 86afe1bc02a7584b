import type { Command } from 'commander';
import type { SubscriptionChange } from '../../core/subscription-event.ts';
import { NO_PLAN, type TeamPlan } from '../../core/transition.ts';
import type { EventRow } from '../../event-log/event-rows.ts';
import type { Reason } from '../../event-log/explain.ts';
import { reasonText } from '../../event-log/reason-text.ts';
import { type ExplainedEvent, explainEvent } from '../../operate/explain.ts';
import { createCommand } from '../arguments.ts';
import {
  type Columns,
  type Data,
  PLAN_COLUMNS,
  paint,
  planCells,
  printable,
  printData,
  tableHead,
  tableLine,
} from '../output.ts';
import { withContext } from '../with-database.ts';
import { eventJson, findEvent, shownTime } from './log.ts';

type ShowOptions = { body?: boolean; json?: boolean };

export function eventsShowCommand(): Command {
  return createCommand(
    'show',
    'show an event, its outcome with the reason, and the plan before and after',
    'instep events show evt_123',
  )
    .argument('<event>', 'position in the log, or event id')
    .option('--body', 'print only the body, byte for byte')
    .option('--json', 'print JSON')
    .action(async (id: string, { body, json }: ShowOptions) => {
      const { event, explained } = await withContext(async (context) => {
        const event = await findEvent(context, id);
        return { event, explained: await explainEvent(context, event) };
      });
      if (body) process.stdout.write(event.body);
      else if (json) process.stdout.write(`${showJson(event, explained)}\n`);
      else show(event, explained);
    });
}

function showJson(event: EventRow, { reasons, plans, teams }: ExplainedEvent): string {
  const why = reasons.map(whyText);
  const now = teams.map(({ id, plan }) => ({ teamId: id, plan }));
  return JSON.stringify({ ...JSON.parse(eventJson(event)), why, reasons, ...plans, now });
}

/** The reason, and the command that resolves it, if one does. */
function whyText(reason: Reason): string {
  const command = commandFor(reason);
  return command === null ? reasonText(reason) : `${reasonText(reason)} Run \`${command}\`.`;
}

function commandFor(reason: Reason): string | null {
  switch (reason.code) {
    case 'no-team':
      return `instep team link ID --customer ${reason.customerId}`;
    case 'readable-now':
      return `instep events replay ${reason.position}`;
    default:
      return null;
  }
}

function show(event: EventRow, { reasons, change, plans, teams }: ExplainedEvent): void {
  printData(described(event, change), {});
  process.stdout.write(`\n${reasons.map(whyText).map(printable).join('\n')}\n`);
  if (plans === null && teams.length === 0) return;

  const before = plans?.before ?? NO_PLAN;
  const after = plans?.after ?? NO_PLAN;
  const columns: Columns = [['', 'before'.length], ...PLAN_COLUMNS];
  const line = (name: string, plan: TeamPlan, than: TeamPlan, note = '') =>
    tableLine(columns, [paint('gray', name), ...planCells(plan, than), note]);
  const lines = [
    tableHead(columns),
    ...(plans === null ? [] : [line('before', before, before), line('after', after, before)]),
    ...teams.map(({ id, plan }) => line('now', plan, plan, `team ${id}`)),
  ];
  process.stdout.write(`\n${lines.join('\n')}\n`);
}

function described(event: EventRow, change: SubscriptionChange | null): Data {
  const data: Data = {
    position: event.position,
    event: event.eventId,
    type: event.type,
    customer: event.customerId,
    subscription: event.subscriptionId,
    status: change?.subscription.status ?? null,
    product: change?.subscription.productId ?? null,
    // Only the names: the values can hold personal data.
    replaced: change?.previousAttributes ? Object.keys(change.previousAttributes).join(', ') : null,
    created: event.createdAtMs === null ? null : shownTime(event.createdAtMs),
    received: shownTime(event.receivedAtMs),
    deliveries: event.deliveries,
    outcome: event.outcome,
  };
  const shown = Object.entries(data).map(([name, value]) => [
    name,
    typeof value === 'string' ? printable(value) : value,
  ]);
  return Object.fromEntries(shown);
}
