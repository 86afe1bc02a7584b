import { type EventRow, HANDLED_TYPES, subscriptionOf } from 'instep-operate';
import { OutcomeBadge, StatusBadge, shortType } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { CustomerLink, EventLink } from '../links.tsx';

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

/** Says how to receive the first event. */
export function NoEvents() {
  const [updated, deleted] = HANDLED_TYPES;
  return (
    <Notice kind="empty" title="No events yet">
      At Stripe, register <code>https://your.app/api/stripe/webhook</code> for{' '}
      <code>{updated}</code> and <code>{deleted}</code>, and change a subscription; or run{' '}
      <code>npx instep trigger</code> to send an event yourself. If none arrives,{' '}
      <code>npx instep doctor</code> shows why.
    </Notice>
  );
}
