import {
  type ExplainedTeam,
  type OperateContext,
  readTimeline,
  reasonText,
  redactedBody,
  type Timeline,
  type TimelineItem,
} from 'instep/operate';

type TeamExport = {
  readonly explained: ExplainedTeam;
  /** Replaces personal data in bodies; `null`: bodies stay as Stripe sent them. */
  readonly redactionKey: string | null;
};

/** How many events are explained at once. */
const PAGE = 200;

/** Everything that is known about a team, as the parts of one JSON file, the newest event first. */
export async function* exportTeam(
  context: OperateContext,
  { explained, redactionKey }: TeamExport,
): AsyncGenerator<string> {
  const { team, planSelection, status, notes, subscriptions } = explained;
  const head = {
    exportedAt: timeText(context.now()),
    bodies: redactionKey === null ? 'original' : 'redacted',
    ...{ planSelection, team, status, notes },
    subscriptions: subscriptions.map(({ subscription, order }) => ({ ...subscription, order })),
  };
  yield `${JSON.stringify(head, hiding(redactionKey), 2).slice(0, -2)},\n  "timeline": `;
  let separator = '[\n';
  for await (const item of itemsOf(context, team.id, redactionKey)) {
    yield separator + item;
    separator = ',\n';
  }
  yield separator === '[\n' ? '[]}\n' : '\n]\n}\n';
}

async function* itemsOf(
  context: OperateContext,
  teamId: ExplainedTeam['team']['id'],
  redactionKey: string | null,
): AsyncGenerator<string> {
  for (let before: string | null = null; ; ) {
    const timeline: Timeline | null = await readTimeline(context, { teamId, before, limit: PAGE });
    for (const item of timeline?.items ?? []) {
      yield item.kind === 'event'
        ? eventText(item, redactionKey)
        : JSON.stringify({ at: timeText(item.atMs), ...item }, hiding(redactionKey));
    }
    if (timeline === null || timeline.next === null) return;
    before = timeline.next;
  }
}

/** What operators entered can be about a person, and lead to the names of other teams. */
const HIDDEN = ['note', 'reason', 'text', 'candidates', 'teamName'];

const hiding = (redactionKey: string | null) => (name: string, value: unknown) =>
  redactionKey !== null && HIDDEN.includes(name) ? undefined : value;

/** The body is inserted as it is: parsing the JSON would round large numbers. */
function eventText(
  { kind, event, subscription, reasons, plans }: Extract<TimelineItem, { kind: 'event' }>,
  redactionKey: string | null,
): string {
  const { body, createdAtMs, receivedAtMs, eventId, key: _, customerId: __, ...others } = event;
  const facts = {
    kind,
    id: eventId,
    ...others,
    createdAt: timeText(createdAtMs),
    receivedAt: timeText(receivedAtMs),
    status: subscription.status,
    productId: subscription.productId,
    reasons: reasons.map(reasonText),
    plans,
  };
  const shown = redactionKey === null ? body : redactedBody(event, redactionKey);
  return `${JSON.stringify(facts).slice(0, -1)},"body":${new TextDecoder().decode(shown)}}`;
}

const timeText = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
