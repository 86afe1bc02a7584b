import type { PlanSelection } from 'instep/operate';
import {
  type Customer,
  countText,
  decidingEvent,
  type SubscriptionState,
} from 'instep/operate/inside';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time } from '../components/text.tsx';

type SubscriptionTableProps = {
  readonly customer: Customer;
  readonly planSelection: PlanSelection;
};

const COLUMNS = ['Subscription', 'Status', 'Product', 'Last effect', 'Note'];

/** Customers have more subscriptions only by accident. */
const MAX_SHOWN = 100;

/** The customer's subscriptions, newest first, and which of them the team follows. */
export function SubscriptionTable({ customer, planSelection }: SubscriptionTableProps) {
  const followed = decidingEvent(customer, planSelection);
  const states = [...customer.values()].sort(
    (one, other) => other.deciding.createdSeconds - one.deciding.createdSeconds,
  );
  return (
    <>
      <Table
        label="Subscriptions"
        columns={COLUMNS}
        rows={states
          .slice(0, MAX_SHOWN)
          .map(({ deciding, order }) => [
            <OptionalText text={deciding.subscriptionId} maxLength={120} />,
            <StatusBadge status={deciding.status} />,
            <OptionalText text={deciding.productId} />,
            <Time ms={deciding.createdSeconds * 1_000} />,
            <Note isFollowed={deciding === followed} order={order} />,
          ])}
      />
      {states.length > MAX_SHOWN && (
        <p class="quiet">
          Showing the newest {MAX_SHOWN} of {countText(states.length)}.
        </p>
      )}
    </>
  );
}

type NoteProps = { readonly isFollowed: boolean; readonly order: SubscriptionState['order'] };

function Note({ isFollowed, order }: NoteProps) {
  const isUnknown = order === 'ambiguous';
  if (!isFollowed && !isUnknown) return <>–</>;
  return (
    <>
      {isFollowed && <Badge tone="accent">followed</Badge>}{' '}
      {isUnknown && <Badge tone="warning">unknown order</Badge>}
    </>
  );
}
