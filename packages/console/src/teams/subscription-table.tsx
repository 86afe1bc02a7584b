import type { TeamSubscription } from 'instep/operate';
import { countText } from '../components/amounts.ts';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time } from '../components/text.tsx';

type SubscriptionTableProps = { readonly subscriptions: readonly TeamSubscription[] };

const COLUMNS = ['Subscription', 'Status', 'Product', 'Last effect', 'Note'];

/** Customers have more subscriptions only by accident. */
const MAX_SHOWN = 100;

/** The customer's subscriptions, newest first, and which of them decides the team's plan. */
export function SubscriptionTable({ subscriptions }: SubscriptionTableProps) {
  return (
    <>
      <Table
        label="Subscriptions"
        columns={COLUMNS}
        rows={subscriptions
          .slice(0, MAX_SHOWN)
          .map(({ deciding, order, isDeciding }) => [
            <OptionalText text={deciding.subscriptionId} maxLength={120} />,
            <StatusBadge status={deciding.status} />,
            <OptionalText text={deciding.productId} />,
            <Time ms={deciding.createdSeconds * 1_000} />,
            <Note {...{ isDeciding, order }} />,
          ])}
      />
      {subscriptions.length > MAX_SHOWN && (
        <p class="quiet">
          Showing the newest {MAX_SHOWN} of {countText(subscriptions.length)}.
        </p>
      )}
    </>
  );
}

type NoteProps = Pick<TeamSubscription, 'isDeciding' | 'order'>;

function Note({ isDeciding, order }: NoteProps) {
  const isUnknown = order === 'ambiguous';
  if (!isDeciding && !isUnknown) return <>–</>;
  return (
    <>
      {isDeciding && <Badge tone="accent">decides the plan</Badge>}{' '}
      {isUnknown && <Badge tone="warning">unknown order</Badge>}
    </>
  );
}
