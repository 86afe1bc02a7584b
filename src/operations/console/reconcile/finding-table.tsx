import type { Child } from 'hono/jsx';
import type { TeamPlan } from '../../../core/transition.ts';
import type { DriftCause } from '../../../maintenance/reconcile/drift.ts';
import type { Finding } from '../../../maintenance/reconcile/finding.ts';
import { Badge } from '../components/badge.tsx';
import { Moment } from '../components/moment.tsx';
import { Table } from '../components/table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { filterUrl } from '../events/event-filter.ts';

const CAUSES: Readonly<Record<DriftCause, string>> = {
  'missed event': 'An event was missed.',
  'never seen': 'No event of the subscription ever came.',
  'changed by hand': 'The team was changed by somebody else than Instep.',
};

/** Why a team is not what it must be, as a sentence. */
export function CauseText({ finding }: { readonly finding: Drift }) {
  const { cause, subscriptionIds } = finding;
  return (
    <>
      {CAUSES[cause]}
      {subscriptionIds.length > 0 && (
        <>
          {' '}
          Subscription: <UntrustedText text={subscriptionIds.join(', ')} />.
        </>
      )}
    </>
  );
}

type Drift = Extract<Finding, { kind: 'drift' }>;

const COLUMNS = ['Team', 'Customer', 'What was found', 'What is to change', 'Since', 'State'];

/** What a reconciliation has found, a row for each. */
export function FindingTable({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <Table label="What was found" columns={COLUMNS}>
      {findings.map((finding) => (
        <tr>
          <td>
            {'teamId' in finding ? <a href={`/teams/${finding.teamId}`}>{finding.teamId}</a> : '–'}
          </td>
          <td class="id">
            <a href={filterUrl('/events', { customer: finding.customerId })}>
              <UntrustedText text={finding.customerId} maxLength={40} />
            </a>
          </td>
          <What finding={finding} />
        </tr>
      ))}
    </Table>
  );
}

function What({ finding }: { readonly finding: Finding }) {
  switch (finding.kind) {
    case 'customer without a team':
      return (
        <>
          <td>
            No team has this customer, whose subscriptions are{' '}
            <UntrustedText text={finding.statuses.join(', ')} />.
          </td>
          <td>–</td>
          <td>–</td>
          <td />
        </>
      );
    case 'unknown customer':
      return (
        <>
          <td>Stripe does not know the team's customer.</td>
          <td>–</td>
          <td>–</td>
          <td />
        </>
      );
    case 'drift': {
      const { is, shouldBe, sinceSeconds, isMended } = finding;
      return (
        <>
          <td>
            <CauseText finding={finding} />
          </td>
          <td>{changesOf(is, shouldBe)}</td>
          <td>{sinceSeconds === null ? '–' : <Moment at={new Date(sinceSeconds * 1_000)} />}</td>
          <td>
            {isMended ? <Badge tone="good">repaired</Badge> : <Badge tone="bad">drifted</Badge>}
          </td>
        </>
      );
    }
  }
}

const FIELDS = [
  ['status', 'subscriptionStatus'],
  ['plan', 'planName'],
  ['product', 'providerProductId'],
  ['subscription', 'providerSubscriptionId'],
] as const satisfies readonly (readonly [string, keyof TeamPlan])[];

function changesOf(is: TeamPlan, shouldBe: TeamPlan): Child {
  const changed = FIELDS.filter(([, field]) => is[field] !== shouldBe[field]);
  // What the team follows may be right, and another subscription of its customer not.
  if (changed.length === 0) return 'Nothing for now.';
  return changed.map(([name, field]) => (
    <div>
      {name} from <UntrustedText text={is[field] ?? 'none'} maxLength={40} /> to{' '}
      <UntrustedText text={shouldBe[field] ?? 'none'} maxLength={40} />
    </div>
  ));
}
