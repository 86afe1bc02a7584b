import { changeOf, type EventRow, type SubscriptionEvent } from 'instep/operate/inside';
import { OutcomeBadge, StatusBadge } from '../components/badges.tsx';
import { Id, IdLink } from '../components/id.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { filterUrl } from './event-filter.ts';
import { EventLink, shortType } from './event-text.tsx';

const COLUMNS = [
  'Received',
  'Outcome',
  'Event',
  'Type',
  'Status',
  'Product',
  'Customer',
  { name: 'Deliveries', class: 'end' },
] as const;

export function EventTable({ events }: { readonly events: readonly EventRow[] }) {
  const rows = events.map((event) => ({ event, subscription: changeOf(event)?.subscription }));
  const ids = rows.flatMap(({ event: { eventId, customerId }, subscription }) => [
    eventId,
    customerId,
    subscription?.productId,
  ]);
  return <Table label="Events" columns={COLUMNS} rows={rows.map(cellsOf)} ids={ids} />;
}

type Row = {
  readonly event: EventRow;
  readonly subscription: SubscriptionEvent | undefined;
};

function cellsOf({ event, subscription }: Row) {
  const { type, customerId, outcome, deliveries, receivedAtMs } = event;
  return [
    <Time ms={receivedAtMs} />,
    <OutcomeBadge outcome={outcome} />,
    <EventLink event={event} />,
    shortType(type),
    subscription === undefined ? '–' : <StatusBadge status={subscription.status} />,
    subscription?.productId == null ? '–' : <Id text={subscription.productId} />,
    customerId === null ? '–' : <CustomerLink customerId={customerId} />,
    deliveries,
  ];
}

export function CustomerLink({ customerId }: { readonly customerId: string }) {
  return <IdLink href={filterUrl('/events', { customer: customerId })} id={customerId} />;
}

export function CustomerFact({ customerId }: { readonly customerId: string | null }) {
  return (
    <>
      <StripeId text={customerId} />{' '}
      {customerId && (
        <a class="whole" href={filterUrl('/events', { customer: customerId })}>
          All events
        </a>
      )}
    </>
  );
}
