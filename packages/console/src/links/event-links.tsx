import {
  DELETED_TYPE,
  type EventRow,
  type Person,
  type Reason,
  type ReasonPart,
  reasonParts,
  SNAPSHOT_TYPE,
  type Subject,
} from 'instep-operate';
import { IdLink, PersonText, StripeId } from '../components/id.tsx';
import { isVisible, UntrustedText } from '../components/text.tsx';
import { urlWith } from '../query-parameters.ts';

/** The fields of the filter of events; empty ones filter nothing. */
export const NO_FILTER = { search: '', type: '', outcome: '', from: '', until: '' };

/** The values of the filter's fields, as they were entered. */
export type FilterFields = Readonly<typeof NO_FILTER>;

/** The address of the list of events with these fields. */
export const eventsUrl = (
  fields: Partial<FilterFields>,
  others: Readonly<Record<string, number>> = {},
): string => urlWith('/events', fields, others);

/** The events of a customer, a subscription or a team. */
export const eventsOf = (kind: Subject['kind'], id: string): string =>
  eventsUrl({ search: `${kind}:${id}` });

export const eventUrl = (position: number): string => `/events/${position}`;

type EventLinkProps = { readonly event: Pick<EventRow, 'eventId' | 'position'> };

export function EventLink({ event: { eventId, position } }: EventLinkProps) {
  const url = eventUrl(position);
  const isNamed = eventId !== null && isVisible(eventId);
  if (isNamed) return <IdLink href={url} id={eventId} />;
  return <a href={url}>event {position}</a>;
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
  const { position } = part;
  const name = <UntrustedText text={part.name} maxLength={100} />;
  return position === null ? name : <a href={eventUrl(position)}>{name}</a>;
}

export function CustomerLink({ customerId }: { readonly customerId: string }) {
  return <IdLink href={eventsOf('customer', customerId)} id={customerId} />;
}

type CustomerFactProps = {
  readonly customerId: string | null;
  /** Whom the customer stands for, as Stripe says now. */
  readonly person?: Person | undefined;
};

export function CustomerFact({ customerId, person }: CustomerFactProps) {
  return (
    <>
      <StripeId text={customerId} /> <PersonText person={person} />{' '}
      {customerId && (
        <a class="whole" href={eventsOf('customer', customerId)}>
          All events
        </a>
      )}
    </>
  );
}
