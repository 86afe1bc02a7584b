import { type EventRow, type SubscriptionEvent, subscriptionOf } from 'instep/operate';
import { OutcomeBadge, StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { CustomerLink, EventLink, shortType } from '../links/event-links.tsx';

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
  const rows = events.map((event) => ({ event, subscription: subscriptionOf(event) }));
  const ids = rows.flatMap(({ event: { eventId, customerId }, subscription }) => [
    eventId,
    customerId,
    subscription?.productId,
  ]);
  return <Table label="Events" columns={COLUMNS} rows={rows.map(eventCells)} ids={ids} />;
}

type Row = {
  readonly event: EventRow;
  readonly subscription: SubscriptionEvent | null;
};

function eventCells({ event, subscription }: Row) {
  const { type, customerId, outcome, deliveries, receivedAtMs } = event;
  return [
    <Time ms={receivedAtMs} />,
    <OutcomeBadge outcome={outcome} />,
    <EventLink event={event} />,
    shortType(type),
    subscription === null ? '–' : <StatusBadge status={subscription.status} />,
    subscription?.productId == null ? '–' : <Id text={subscription.productId} />,
    customerId === null ? '–' : <CustomerLink customerId={customerId} />,
    deliveries,
  ];
}
