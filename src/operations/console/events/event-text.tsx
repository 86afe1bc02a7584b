import type { SubscriptionEvent } from '../../../core/subscription-event.ts';
import type { Explanation } from '../../../event-log/explain.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import { DELETED_TYPE, SNAPSHOT_TYPE } from '../../../stripe/handled-event-type.ts';
import { changeOf } from '../../../stripe/logged-event.ts';
import { UntrustedText } from '../components/text.tsx';

export function eventUrl(position: number): string {
  return `/events/${position}`;
}

type EventLinkProps = { readonly event: Pick<EventRow, 'eventId' | 'position'> };

export function EventLink({ event: { eventId, position } }: EventLinkProps) {
  return (
    <a href={eventUrl(position)}>
      <UntrustedText text={eventId ?? `at position ${position}`} maxLength={40} />
    </a>
  );
}

/** A type in one or two words. */
export function shortType(type: string): string {
  if (type === SNAPSHOT_TYPE) return 'snapshot';
  return type === DELETED_TYPE ? 'deleted' : 'updated';
}

/** What an event says about its subscription; `null` when it is unreadable. */
export function subscriptionIn(event: EventRow): SubscriptionEvent | null {
  return event.outcome === 'unreadable' ? null : (changeOf(event)?.subscription ?? null);
}

/** Why this was decided, as sentences that stand beside the outcome. */
export function reasonsOf({ outcome }: EventRow, { why }: Explanation): readonly string[] {
  const prefix = `${outcome}: `;
  return why.map((sentence) =>
    sentence.startsWith(prefix) ? sentence.slice(prefix.length) : sentence,
  );
}
