import { type EventRow, subscriptionOf } from 'instep-operate';
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
  return <Table label="Events" columns={COLUMNS} rows={events.map(eventCells)} />;
}

function eventCells(event: EventRow) {
  const subscription = subscriptionOf(event);
  const { type, customerId, outcome, deliveries, receivedAtMs } = event;
  return [
    <Time ms={receivedAtMs} format="age" />,
    <OutcomeBadge outcome={outcome} />,
    <EventLink event={event} />,
    shortType(type),
    subscription === null ? '–' : <StatusBadge status={subscription.status} />,
    subscription?.productId == null ? '–' : <Id text={subscription.productId} />,
    customerId === null ? '–' : <CustomerLink customerId={customerId} />,
    deliveries,
  ];
}
