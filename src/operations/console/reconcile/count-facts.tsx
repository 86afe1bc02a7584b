import type { Counts } from '../../../maintenance/reconcile/finding.ts';
import { Badge } from '../components/badge.tsx';
import { Facts } from '../components/facts.tsx';

export type CountFactsProps = { readonly counts: Counts; readonly isDryRun: boolean };

/** All that was counted. */
export function CountFacts({ counts, isDryRun }: CountFactsProps) {
  const { subscriptions, teams, drifts, repaired, unreadable } = counts;
  const { customersWithoutTeam, unknownCustomers } = counts;
  const left = drifts - repaired;
  return (
    <Facts
      facts={[
        [
          'Drifted teams',
          drifts === 0 ? (
            <Badge tone="good">none</Badge>
          ) : (
            <>
              {number(drifts)}{' '}
              <Badge tone={left > 0 ? 'bad' : 'good'}>
                {isDryRun ? 'left as they are' : `${number(repaired)} repaired`}
              </Badge>
            </>
          ),
        ],
        ['Teams compared', number(teams)],
        ['Subscriptions listed', number(subscriptions)],
        ['Customers who have something and no team', number(customersWithoutTeam)],
        ['Teams whose customer Stripe does not know', number(unknownCustomers)],
        ['Subscriptions of no known shape', number(unreadable)],
      ]}
    />
  );
}

function number(count: number): string {
  return count.toLocaleString('en');
}
