import type { EventRow } from '../../../queries/search-events.ts';
import { DELETED_TYPE, SNAPSHOT_TYPE } from '../../../stripe/handled-event-type.ts';
import { IdLink, isVisible } from '../components/text.tsx';

export function eventUrl(position: number): string {
  return `/events/${position}`;
}

type EventLinkProps = { readonly event: Pick<EventRow, 'eventId' | 'position'> };

export function EventLink({ event: { eventId, position } }: EventLinkProps) {
  const isNamed = eventId !== null && isVisible(eventId);
  if (isNamed) return <IdLink href={eventUrl(position)} id={eventId} />;
  return <a href={eventUrl(position)}>at position {position}</a>;
}

/** A type in one or two words. */
export function shortType(type: string): string {
  if (type === SNAPSHOT_TYPE) return 'snapshot';
  return type === DELETED_TYPE ? 'deleted' : 'updated';
}
