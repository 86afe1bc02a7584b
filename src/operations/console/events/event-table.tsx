import type { EventRow } from '../../../queries/search-events.ts';
import { Moment } from '../components/moment.tsx';
import { OutcomeBadge } from '../components/outcome-badge.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { Table } from '../components/table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { filterUrl } from './event-filter.ts';
import { eventUrl, shortType } from './event-link.ts';
import { saidBy } from './said-by.ts';

const COLUMNS = [
  'Received',
  'Event',
  'Type',
  'Status',
  'Product',
  'Customer',
  'Outcome',
  { name: 'Delivered', align: 'end' },
] as const;

/** Events of the log, in the order in which they are given. */
export function EventTable({ events }: { readonly events: readonly EventRow[] }) {
  return (
    <Table label="Events" columns={COLUMNS}>
      {events.map((event) => (
        <EventLine event={event} />
      ))}
    </Table>
  );
}

function EventLine({ event }: { readonly event: EventRow }) {
  const { position, eventId, type, customerId, outcome, deliveries, receivedAtMs } = event;
  const said = saidBy(event);
  return (
    <tr>
      <td>
        <Moment at={new Date(receivedAtMs)} />
      </td>
      <td class="id">
        <a href={eventUrl(position)}>
          <UntrustedText text={eventId ?? `at position ${position}`} maxLength={40} />
        </a>
      </td>
      <td>{shortType(type)}</td>
      <td>{said === null ? '–' : <StatusBadge status={said.status} />}</td>
      <td>
        {said?.productId == null ? '–' : <UntrustedText text={said.productId} maxLength={40} />}
      </td>
      <td class="id">
        {customerId === null ? (
          '–'
        ) : (
          <a href={filterUrl('/events', { customer: customerId })}>
            <UntrustedText text={customerId} maxLength={40} />
          </a>
        )}
      </td>
      <td>
        <OutcomeBadge outcome={outcome} />
      </td>
      <td class="end">{deliveries}</td>
    </tr>
  );
}
