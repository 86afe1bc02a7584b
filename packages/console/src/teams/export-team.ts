import type { HistoryEntry } from 'instep/operate';
import {
  type Customer,
  explainHistory,
  type Query,
  reasonText,
  redactBody,
} from 'instep/operate/inside';
import { exportedTime, jsonArrayOf } from '../export.ts';
import { type TeamRecord, teamStatusOf } from './team-status.ts';

type TeamExport = {
  readonly record: TeamRecord;
  readonly nowMs: number;
  /** Replaces personal data in bodies; `null`: bodies stay as Stripe sent them. */
  readonly pseudonymOf: ((text: string) => string) | null;
};

/** How many events are explained at once. */
const PAGE = 200;

/** Everything that is known about a team, as one JSON file, the newest event first. */
export async function* exportTeam(
  query: Query,
  { record, nowMs, pseudonymOf }: TeamExport,
): AsyncGenerator<string> {
  const { team, known, planSelection } = record;
  const customer = known.customers.get(team.customerId ?? '');
  const head = {
    exportedAt: exportedTime(nowMs),
    bodies: pseudonymOf === null ? 'original' : 'redacted',
    planSelection,
    team,
    ...teamStatusOf(record),
    subscriptions: customer === undefined ? [] : subscriptionsOf(customer),
  };
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "events": `;
  yield* jsonArrayOf(eventsOf(query, record, pseudonymOf));
  yield '}\n';
}

const subscriptionsOf = (customer: Customer) =>
  [...customer.values()].map(({ deciding, order }) => ({ ...deciding, order }));

async function* eventsOf(
  query: Query,
  { team: { id, customerId }, planSelection }: TeamRecord,
  pseudonymOf: TeamExport['pseudonymOf'],
): AsyncGenerator<string> {
  let before: number | null = null;
  do {
    if (customerId === null) return;
    const request = { customerId, planSelection, teamIds: [id], before, limit: PAGE };
    const history = await explainHistory(query, request);
    for (const entry of history.entries.toReversed()) yield eventText(entry, pseudonymOf);
    before = history.before;
  } while (before !== null);
}

/** The body is inserted as it is: parsing the JSON would round large numbers. */
function eventText(
  { event, subscription, reasons, plans }: HistoryEntry,
  pseudonymOf: TeamExport['pseudonymOf'],
): string {
  const { body, createdAtMs, receivedAtMs, eventId, key: _, customerId: __, ...others } = event;
  const facts = {
    id: eventId,
    ...others,
    createdAt: exportedTime(createdAtMs),
    receivedAt: exportedTime(receivedAtMs),
    status: subscription.status,
    productId: subscription.productId,
    reasons: reasons.map(reasonText),
    plans,
  };
  const shown = pseudonymOf === null ? body : redactBody(body, pseudonymOf);
  return `${JSON.stringify(facts).slice(0, -1)},"body":${new TextDecoder().decode(shown)}}`;
}
