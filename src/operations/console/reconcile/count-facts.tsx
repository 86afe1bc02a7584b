import type { Counts } from '../../../maintenance/reconcile/finding.ts';
import { Badge } from '../components/badges.tsx';
import { Facts } from '../components/panels.tsx';
import { countText } from '../components/text.tsx';

export type CountFactsProps = { readonly counts: Counts; readonly isDryRun: boolean };

/** The counts of a reconciliation. */
export function CountFacts({ counts, isDryRun }: CountFactsProps) {
  const { drifts, repaired } = counts;
  const isRepaired = drifts === repaired;
  return (
    <Facts
      facts={[
        [
          'Teams out of sync',
          drifts === 0 ? (
            <Badge tone="good">none</Badge>
          ) : (
            <>
              {countText(drifts)}{' '}
              <Badge tone={isRepaired ? 'good' : 'bad'}>
                {isDryRun ? 'not repaired' : `${countText(repaired)} repaired`}
              </Badge>
            </>
          ),
        ],
        ['Teams compared', countText(counts.teams)],
        ['Teams with the right plan but missing events', countText(counts.unrecorded)],
        ['Subscriptions listed', countText(counts.subscriptions)],
        ['Customers with a subscription but no team', countText(counts.customersWithoutTeam)],
        ['Teams with a customer unknown to Stripe', countText(counts.unknownCustomers)],
        ['Unreadable subscriptions', countText(counts.unreadable)],
      ]}
    />
  );
}
