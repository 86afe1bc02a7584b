import type { DriftFinding, Finding } from '../maintenance/reconcile/drift.ts';
import type { Counts } from '../maintenance/reconcile/progress.ts';
import { counted, countText } from '../runtime/count-text.ts';
import { shownTime } from './events/format.ts';
import { planChanges } from './plan-table.ts';

/** A finding in one line. */
export function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'drift':
      return describeDrift(finding);
    case 'unrecorded': {
      const { teamId, customerId, subscriptionIds } = finding;
      const ids = subscriptionIds.join(', ');
      return `team ${teamId} (${customerId}) has the right plan, but an event of ${ids} is missing`;
    }
    case 'customer without a team': {
      const { customerId, statuses } = finding;
      return `customer ${customerId} has no team (${statuses.join(', ')})`;
    }
    case 'unknown customer':
      return `team ${finding.teamId}: Stripe does not know its customer ${finding.customerId}`;
  }
}

/** `team 7 (cus_1): planName Pro → - (sub_1: missed event, since 2026-10-02 08:15:03Z)` */
function describeDrift(drift: DriftFinding): string {
  const { teamId, customerId, is, shouldBe, subscriptionIds, cause, sinceSeconds } = drift;
  const changes = planChanges(is, shouldBe).join(', ');
  const why = subscriptionIds.length === 0 ? cause : `${subscriptionIds.join(', ')}: ${cause}`;
  const since = sinceSeconds === null ? '' : `, since ${shownTime(sinceSeconds * 1_000)}`;
  return `team ${teamId} (${customerId}): ${changes} (${why}${since})`;
}

/** The counts of a reconciliation in one line. */
export function describeCounts(counts: Counts, isDryRun: boolean): string {
  const { subscriptions, teams, drifts, repaired, unreadable } = counts;
  const left = isDryRun ? 0 : drifts - repaired;
  const parts = [
    drifts === 0 ? 'no drift' : `${countText(drifts)} out of sync`,
    ...(repaired > 0 ? [`${countText(repaired)} repaired`] : []),
    ...(left > 0 ? [`${countText(left)} not repaired`] : []),
    ...nonzero(counts.unrecorded, 'correct team', 'with a missing event'),
    ...nonzero(counts.customersWithoutTeam, 'customer', 'without a team'),
    ...nonzero(counts.unknownCustomers, 'team', 'whose customer Stripe does not know'),
    ...nonzero(unreadable, 'subscription', 'that could not be read'),
  ];
  const head = `${counted(subscriptions, 'subscription')}, ${counted(teams, 'team')}`;
  return `${head}: ${parts.join(', ')}`;
}

function nonzero(count: number, noun: string, which: string): string[] {
  return count === 0 ? [] : [`${counted(count, noun)} ${which}`];
}
