import type { NamedTeam } from '../../../queries/named-teams.ts';
import { Button } from '../components/button.tsx';
import { CsrfField } from '../components/csrf-field.tsx';
import { ErrorNotice } from '../components/error-notice.tsx';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { PlanTable } from '../components/plan-table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { CauseText } from '../reconcile/finding-table.tsx';
import type { Comparison } from './compare-team.ts';

export type ComparePartProps = {
  readonly team: NamedTeam;
  readonly comparison: Comparison | null;
};

/** Compares the team with Stripe: what differs is shown first, and repaired when that is asked for. */
export function ComparePart({ team, comparison }: ComparePartProps) {
  const isToMend =
    comparison?.kind === 'compared' && comparison.isDryRun && comparison.finding?.kind === 'drift';
  return (
    <Panel title="Reconcile this team" id="reconcile">
      {comparison === null ? (
        <p>
          Asks Stripe for the customer's subscriptions and shows what differs. Nothing is changed.
        </p>
      ) : (
        <div role="status">
          <Result comparison={comparison} />
        </div>
      )}
      <form method="post" action={`/teams/${team.id}/reconcile#reconcile`}>
        <CsrfField />
        <p>
          <Button kind={comparison === null ? 'main' : 'quiet'} name="how" value="dry run">
            {comparison === null ? 'Compare with Stripe' : 'Compare again'}
          </Button>{' '}
          {isToMend && (
            <Button kind="danger" name="how" value="repair">
              Repair this team
            </Button>
          )}
        </p>
      </form>
    </Panel>
  );
}

function Result({ comparison }: { readonly comparison: Comparison }) {
  if (comparison.kind === 'failed') {
    return (
      <ErrorNotice title="Nothing was compared">{`It failed: ${comparison.reason}.`}</ErrorNotice>
    );
  }
  const { finding, isDryRun } = comparison;
  if (finding === null) return <p>The team is as Stripe says. There is nothing to repair.</p>;
  if (finding.kind !== 'drift') {
    return (
      <p>
        Stripe does not know the customer <UntrustedText text={finding.customerId} />. Is
        STRIPE_SECRET_KEY of the same account and mode?
      </p>
    );
  }
  const { sinceSeconds, is, shouldBe, isMended } = finding;
  return (
    <>
      <p>
        {isMended ? 'The team was repaired. ' : 'The team is not what Stripe says. '}
        <CauseText finding={finding} />
        {sinceSeconds !== null && (
          <>
            {' '}
            It is so since <Moment at={new Date(sinceSeconds * 1_000)} /> or later.
          </>
        )}
      </p>
      {!isDryRun && !isMended && (
        <p>It could not be repaired: the database refused it, and the server's log says why.</p>
      )}
      <PlanTable
        label="What differs"
        rows={[
          { name: isMended ? 'Was' : 'Is', plan: is, comparedWith: null },
          { name: isMended ? 'Is' : 'Should be', plan: shouldBe, comparedWith: is },
        ]}
      />
    </>
  );
}
