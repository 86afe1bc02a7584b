import type { Reason } from '../../../event-log/reason.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import { DELETED_TYPE, SNAPSHOT_TYPE } from '../../../stripe/handled-event-type.ts';
import { reasonText } from '../../reason-text.ts';
import { IdLink, isVisible, UntrustedText } from '../components/text.tsx';

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

/** Why an event had its outcome. A command to run is between backticks. */
export function ReasonText({ reason }: { readonly reason: Reason }) {
  const [before = '', command, after = ''] = reasonText(reason).split('`');
  return (
    <>
      <UntrustedText text={before} maxLength={600} />
      {command !== undefined && (
        <>
          <code>
            <UntrustedText text={command} maxLength={400} />
          </code>
          {after}
        </>
      )}
    </>
  );
}
