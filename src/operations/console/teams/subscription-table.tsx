import type { Customer, SubscriptionState } from '../../../core/customer.ts';
import { followedEvent, type PlanSelection } from '../../../core/plan-selection.ts';
import { Badge } from '../components/badge.tsx';
import { Moment } from '../components/moment.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { Table } from '../components/table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';

export type SubscriptionTableProps = {
  readonly customer: Customer;
  readonly planSelection: PlanSelection;
};

const COLUMNS = ['Subscription', 'Status', 'Product', 'Newest event with an effect', 'Note'];

/** A customer has more subscriptions only where something is odd. */
const MAX_SHOWN = 100;

/** The customer's subscriptions, the newest first, and which of them the team follows. */
export function SubscriptionTable({ customer, planSelection }: SubscriptionTableProps) {
  const followed = followedEvent(customer, planSelection);
  const states = [...customer.values()].sort(
    (one, other) => other.newest.createdSeconds - one.newest.createdSeconds,
  );
  return (
    <>
      <Table label="Subscriptions" columns={COLUMNS}>
        {states.slice(0, MAX_SHOWN).map((state) => (
          <SubscriptionLine state={state} isFollowed={state.newest === followed} />
        ))}
      </Table>
      {states.length > MAX_SHOWN && (
        <p class="quiet">
          The newest {MAX_SHOWN} of {states.length.toLocaleString('en')} are shown.
        </p>
      )}
    </>
  );
}

type SubscriptionLineProps = { readonly state: SubscriptionState; readonly isFollowed: boolean };

function SubscriptionLine({ state, isFollowed }: SubscriptionLineProps) {
  const { subscriptionId, status, productId, createdSeconds } = state.newest;
  return (
    <tr>
      <td>{subscriptionId === null ? 'none named' : <UntrustedText text={subscriptionId} />}</td>
      <td>
        <StatusBadge status={status} />
      </td>
      <td>{productId === null ? '–' : <UntrustedText text={productId} maxLength={60} />}</td>
      <td>
        <Moment at={new Date(createdSeconds * 1_000)} />
      </td>
      <td>
        {isFollowed && <Badge tone="accent">followed</Badge>}{' '}
        {state.isOrderAmbiguous && <Badge tone="warning">uncertain</Badge>}
      </td>
    </tr>
  );
}
