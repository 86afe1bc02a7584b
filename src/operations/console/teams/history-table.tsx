import { isSamePlan } from '../../../core/transition.ts';
import type { HistoryEntry } from '../../../event-log/explain-history.ts';
import { Moment } from '../components/moment.tsx';
import { OutcomeBadge } from '../components/outcome-badge.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { Table } from '../components/table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { eventUrl, shortType } from '../events/event-link.ts';
import { reasonsOf } from '../events/reason.ts';
import { shortPlan } from './timeline.ts';

const COLUMNS = ['Created, by Stripe', 'Event', 'Status', 'Subscription', 'Outcome', 'What it did'];

/** What happened, the newest first. */
export function HistoryTable({ entries }: { readonly entries: readonly HistoryEntry[] }) {
  return (
    <Table label="What happened, the newest first" columns={COLUMNS}>
      {entries.toReversed().map((entry) => (
        <HistoryLine entry={entry} />
      ))}
    </Table>
  );
}

function HistoryLine({ entry }: { readonly entry: HistoryEntry }) {
  const { event, subscription, plans } = entry;
  const { createdSeconds, subscriptionId, status, productId } = subscription;
  return (
    <tr>
      <td>
        <Moment at={new Date(createdSeconds * 1_000)} />
      </td>
      <td class="id">
        <a href={eventUrl(event.position)}>
          <UntrustedText text={event.eventId ?? `at position ${event.position}`} maxLength={32} />
        </a>
        <div class="quiet">{shortType(event.type)}</div>
      </td>
      <td>
        <StatusBadge status={status} />
        {productId !== null && (
          <div class="quiet id">
            <UntrustedText text={productId} maxLength={32} />
          </div>
        )}
      </td>
      <td>
        {subscriptionId === null ? 'none' : <UntrustedText text={subscriptionId} maxLength={32} />}
      </td>
      <td>
        <OutcomeBadge outcome={event.outcome} />
      </td>
      <td class="reasons">
        {plans !== null && !isSamePlan(plans.before, plans.after) && (
          <div>
            from <UntrustedText text={shortPlan(plans.before)} maxLength={60} /> to{' '}
            <strong>
              <UntrustedText text={shortPlan(plans.after)} maxLength={60} />
            </strong>
          </div>
        )}
        {reasonsOf(event, entry).map((reason) => (
          <div class="quiet">
            <UntrustedText text={reason} maxLength={400} />
          </div>
        ))}
      </td>
    </tr>
  );
}
