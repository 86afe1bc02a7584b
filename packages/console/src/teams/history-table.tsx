import type { HistoryEntry } from 'instep/operate';
import { OutcomeBadge, StatusBadge } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { differingFields } from '../components/plan-table.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { EventLink, ReasonText, shortType } from '../links/event-links.tsx';
import { shortPlan } from './timeline.ts';

const COLUMNS = [
  'Created at Stripe',
  'Outcome',
  'Event',
  'Status',
  'Subscription',
  { name: 'Effect', class: 'wide' },
] as const;

type HistoryTableProps = { readonly entries: readonly HistoryEntry[] };

/** Marks its row in the address of a page. */
export function rowId({ position }: { readonly position: number }): string {
  return `event-${position}`;
}

/** The events of a customer, newest first. */
export function HistoryTable({ entries }: HistoryTableProps) {
  const rows = entries.toReversed().map(historyCells);
  const ids = entries.flatMap(({ event, subscription }) => [
    event.eventId,
    subscription.productId,
    subscription.subscriptionId,
  ]);
  return <Table label="History, newest first" columns={COLUMNS} rows={rows} ids={ids} />;
}

function historyCells(entry: HistoryEntry) {
  const { event, subscription } = entry;
  return [
    <Time ms={subscription.createdSeconds * 1_000} />,
    <OutcomeBadge outcome={event.outcome} />,
    <>
      <div id={rowId(event)}>
        <EventLink event={event} />
      </div>
      <div class="quiet">{shortType(event.type)}</div>
    </>,
    <>
      <StatusBadge status={subscription.status} />
      {subscription.productId !== null && (
        <div class="quiet">
          <Id text={subscription.productId} />
        </div>
      )}
    </>,
    subscription.subscriptionId === null ? '–' : <Id text={subscription.subscriptionId} />,
    <Effect entry={entry} />,
  ];
}

type EffectProps = { readonly entry: HistoryEntry };

function Effect({ entry }: EffectProps) {
  return (
    <>
      <PlanChange entry={entry} />
      {entry.reasons.map((reason) => (
        <div class="quiet">
          <ReasonText reason={reason} />
        </div>
      ))}
    </>
  );
}

function PlanChange({ entry: { event, plans } }: EffectProps) {
  if (plans === null) return null;
  const after = <UntrustedText text={shortPlan(plans.after)} maxLength={60} />;
  if (differingFields(plans.before, plans.after).length === 0) {
    return event.outcome === 'applied' ? <div>{after}, as before</div> : null;
  }
  return (
    <div>
      from <UntrustedText text={shortPlan(plans.before)} maxLength={60} /> to{' '}
      <strong>{after}</strong>
    </div>
  );
}
