import type { NamedTeam } from '../../../queries/named-teams.ts';
import { Button, PostForm } from '../components/form.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { PlanTable } from '../components/plan-table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { CauseText } from '../reconcile/finding-table.tsx';
import type { Comparison } from './compare-team.ts';

export type ComparePanelProps = {
  readonly team: NamedTeam;
  readonly comparison: Comparison | null;
};

/** Compares the team with Stripe. A difference is shown first, and repaired on request. */
export function ComparePanel({ team, comparison }: ComparePanelProps) {
  const canRepair =
    comparison?.kind === 'compared' && comparison.isDryRun && comparison.finding?.kind === 'drift';
  return (
    <Panel title="Comparison with Stripe" id="reconcile">
      {comparison === null ? (
        <p>Asks Stripe for the customer's subscriptions and shows differences. Changes nothing.</p>
      ) : (
        <div role="status">
          <Result comparison={comparison} />
        </div>
      )}
      <PostForm action={`/teams/${team.id}/reconcile#reconcile`}>
        <p>
          <Button kind={comparison === null ? 'main' : 'quiet'} name="mode" value="dry run">
            {comparison === null ? 'Compare with Stripe' : 'Compare again'}
          </Button>{' '}
          {canRepair && (
            <Button kind="danger" name="mode" value="repair">
              Repair this team
            </Button>
          )}
        </p>
      </PostForm>
    </Panel>
  );
}

function Result({ comparison }: { readonly comparison: Comparison }) {
  if (comparison.kind === 'failed') {
    const reason = `${comparison.reason.charAt(0).toUpperCase()}${comparison.reason.slice(1)}.`;
    return (
      <Notice kind="error" title="Comparison failed">
        {reason} Nothing was changed.
      </Notice>
    );
  }
  const { finding, isDryRun } = comparison;
  if (finding === null) return <p>The team is in sync with Stripe. No action needed.</p>;
  if (finding.kind !== 'drift') {
    return (
      <p>
        Stripe does not know customer <UntrustedText text={finding.customerId} />. Check that
        STRIPE_SECRET_KEY belongs to the same account and mode.
      </p>
    );
  }
  const { sinceSeconds, is, shouldBe, isRepaired } = finding;
  return (
    <>
      <p>
        {isRepaired ? 'The team was repaired. ' : 'The team is out of sync with Stripe. '}
        <CauseText finding={finding} />
        {sinceSeconds !== null && (
          <>
            {' '}
            Out of sync since <Time ms={sinceSeconds * 1_000} /> or later.
          </>
        )}
      </p>
      {!isDryRun && !isRepaired && (
        <p>The database refused the repair. The server log has the reason.</p>
      )}
      <PlanTable
        label="Differences"
        rows={[
          { name: isRepaired ? 'Before' : 'Now', plan: is },
          { name: isRepaired ? 'Now' : 'At Stripe', plan: shouldBe, comparedWith: is },
        ]}
      />
    </>
  );
}
