import {
  type ExplainedTeam,
  type HistoryEntry,
  type OperateContext,
  readTimeline,
  reasonText,
  redactedBody,
} from 'instep/operate';
import { exportedTime, jsonArrayOf } from '../export.ts';

type TeamExport = {
  readonly explained: ExplainedTeam;
  /** Replaces personal data in bodies; `null`: bodies stay as Stripe sent them. */
  readonly redactionKey: string | null;
};

/** How many events are explained at once. */
const PAGE = 200;

/** Everything that is known about a team, as one JSON file, the newest event first. */
export async function* exportTeam(
  context: OperateContext,
  { explained, redactionKey }: TeamExport,
): AsyncGenerator<string> {
  const { team, planSelection, status, notes, subscriptions } = explained;
  const head = {
    exportedAt: exportedTime(context.now()),
    bodies: redactionKey === null ? 'original' : 'redacted',
    ...{ planSelection, team, status, notes },
    subscriptions: subscriptions.map(({ deciding, order }) => ({ ...deciding, order })),
  };
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "events": `;
  yield* jsonArrayOf(eventsOf(context, team.id, redactionKey));
  yield '}\n';
}

async function* eventsOf(
  context: OperateContext,
  teamId: ExplainedTeam['team']['id'],
  redactionKey: string | null,
): AsyncGenerator<string> {
  let before: number | null = null;
  do {
    const history = await readTimeline(context, { teamId, before, limit: PAGE });
    if (history === null) return;
    for (const entry of history.entries.toReversed()) yield eventText(entry, redactionKey);
    before = history.before;
  } while (before !== null);
}

/** The body is inserted as it is: parsing the JSON would round large numbers. */
function eventText(
  { event, subscription, reasons, plans }: HistoryEntry,
  redactionKey: string | null,
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
  const shown = redactionKey === null ? body : redactedBody(event, redactionKey);
  return `${JSON.stringify(facts).slice(0, -1)},"body":${new TextDecoder().decode(shown)}}`;
}
