import {
  DELETED_TYPE,
  type EventRow,
  nameOf,
  type Reason,
  type ReasonPart,
  reasonParts,
  SNAPSHOT_TYPE,
} from 'instep/operate/inside';
import { IdLink } from '../components/id.tsx';
import { isVisible, UntrustedText } from '../components/text.tsx';

export function eventUrl(position: number): string {
  return `/events/${position}`;
}

type EventLinkProps = { readonly event: Pick<EventRow, 'eventId' | 'position'> };

export function EventLink({ event: { eventId, position } }: EventLinkProps) {
  const isNamed = eventId !== null && isVisible(eventId);
  if (isNamed) return <IdLink href={eventUrl(position)} id={eventId} />;
  return <a href={eventUrl(position)}>event {position}</a>;
}

/** A type in one or two words. */
export function shortType(type: string): string {
  if (type === SNAPSHOT_TYPE) return 'snapshot';
  return type === DELETED_TYPE ? 'deleted' : 'updated';
}

/** Why an event had its outcome. */
export function ReasonText({ reason }: { readonly reason: Reason }) {
  return (
    <>
      {reasonParts(reason).map((part) => (
        <Part part={part} />
      ))}
    </>
  );
}

function Part({ part }: { readonly part: ReasonPart }) {
  if (typeof part === 'string') return <UntrustedText text={part} maxLength={600} />;
  const { position } = part.event;
  const name = <UntrustedText text={nameOf(part.event)} maxLength={100} />;
  return position === null ? name : <a href={eventUrl(position)}>{name}</a>;
}
