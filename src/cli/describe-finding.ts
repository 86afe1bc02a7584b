import type { Counts, Finding } from '../maintenance/reconcile/finding.ts';

/** A finding in one line for a person. */
export function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'drift':
      return describeDrift(finding);
    case 'customer without a team': {
      const { customerId, statuses } = finding;
      return `customer ${customerId} has no team (${statuses.join(', ')})`;
    }
    case 'unknown customer':
      return `team ${finding.teamId}: Stripe does not know its customer ${finding.customerId}`;
  }
}

/** `team 7 (cus_1): planName Pro → - (sub_1: missed event, since 2026-10-02 08:15:03Z)` */
function describeDrift(drift: Extract<Finding, { kind: 'drift' }>): string {
  const { teamId, customerId, is, shouldBe, subscriptionIds, cause, sinceSeconds } = drift;
  const fields = Object.keys(shouldBe) as (keyof typeof shouldBe)[];
  const changes = fields
    .filter((field) => is[field] !== shouldBe[field])
    .map((field) => `${field} ${is[field] ?? '-'} → ${shouldBe[field] ?? '-'}`);
  // What the team follows may be right, and another subscription of its customer not.
  const shown = changes.length > 0 ? changes.join(', ') : 'nothing to change now';
  const why = [...subscriptionIds, cause].join(': ');
  const since = sinceSeconds === null ? '' : `, since ${timeOf(sinceSeconds)}`;
  return `team ${teamId} (${customerId}): ${shown} (${why}${since})`;
}

function timeOf(seconds: number): string {
  return `${new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** All that was counted, in one line. */
export function describeCounts(counts: Counts, isDryRun: boolean): string {
  const { subscriptions, teams, drifts, repaired, unreadable } = counts;
  const left = drifts - repaired;
  const parts = [
    drifts === 0 ? 'no drift' : `${number(drifts)} drifted`,
    ...(repaired > 0 ? [`${number(repaired)} repaired`] : []),
    ...(left > 0 && !isDryRun ? [`${number(left)} not repaired`] : []),
    ...some(counts.customersWithoutTeam, 'customer(s) without a team'),
    ...some(counts.unknownCustomers, 'team(s) whose customer Stripe does not know'),
    ...some(unreadable, 'subscription(s) of no known shape'),
  ];
  return `${number(subscriptions)} subscription(s), ${number(teams)} team(s): ${parts.join(', ')}`;
}

function some(count: number, what: string): string[] {
  return count === 0 ? [] : [`${number(count)} ${what}`];
}

function number(count: number): string {
  return count.toLocaleString('en');
}
