import type { Comparison, NamedTeam, RecordedAction } from 'instep-operate';
import { ActionSummary } from '../actions/action-summary.tsx';
import { REASONS, resultText } from '../actions/words.ts';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { Changes } from '../components/plan-step.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { teamUrl } from '../links/team-links.tsx';
import { canAct } from '../request-context.ts';

type ComparePanelProps = {
  readonly team: NamedTeam;
  /** The newest dismissal of the team. */
  readonly dismissalId: number | null;
  readonly comparison: Comparison | null;
  /** Whether Stripe has answered about the customer of the team. */
  readonly wasCompared: boolean;
  /** Whether a comparison is what the team needs first. */
  readonly needsComparison: boolean;
  /** The results of a repair before this comparison. */
  readonly acted: readonly RecordedAction[];
};

/** Compares the team with Stripe. A difference is shown first, and repaired on request. */
export function ComparePanel(props: ComparePanelProps) {
  const { team, dismissalId, comparison, acted, wasCompared, needsComparison } = props;
  const { id } = team;
  const isShown = comparison !== null;
  if (!isShown && wasCompared && !canAct()) return null;
  const canRepair = comparison?.code === 'out-of-sync';
  return (
    <Panel title="Comparison with Stripe" id="comparison">
      {isShown ? (
        <>
          <ActionSummary actions={acted} teamId={id} />
          <div role="status" data-comparison={comparison.code}>
            <Result comparison={comparison} />
          </div>
        </>
      ) : (
        <p>
          {!wasCompared && <strong>Not compared with Stripe yet. </strong>}
          Asks Stripe for the customer's subscriptions and shows differences. Changes no team.
        </p>
      )}
      <div class="row">
        {canRepair && (
          <PostForm action={`${teamUrl(id)}/repair`}>
            <Button kind="main">Repair this team</Button>
          </PostForm>
        )}
        <PostForm action={`${teamUrl(id)}/compare`}>
          <Button kind={needsComparison && !isShown ? 'main' : 'quiet'}>
            {isShown ? 'Compare again' : 'Compare with Stripe'}
          </Button>
        </PostForm>
      </div>
      {canRepair && comparison.isDismissed !== true && (
        <PostForm action={`${teamUrl(id)}/dismiss`} class="row">
          <input type="hidden" name="expected" value={String(dismissalId ?? '')} />
          <Field
            label="Or leave it as it is. Why?"
            name="note"
            hint="Such as: partner deal. No repair changes the team meanwhile."
            maxlength={500}
            required
          />
          <Field label="Until the end of" name="until" id="dismissed-until" type="date" />
          <Button>Dismiss</Button>
        </PostForm>
      )}
    </Panel>
  );
}

function Result({ comparison }: { readonly comparison: Comparison }) {
  switch (comparison.code) {
    case 'in-sync':
    case 'repaired':
      return <p>The team is in sync with Stripe. No action needed.</p>;
    case 'unknown-customer':
      return (
        <p>
          Stripe does not know customer <UntrustedText text={comparison.customerId} />.{' '}
          <a href="#link">Link another customer</a>. If Stripe knows none of your customers, check
          the account and the mode of STRIPE_SECRET_KEY.
        </p>
      );
    case 'out-of-sync':
      return <Differences {...comparison} />;
    default:
      return (
        <Notice kind="error" title="Comparison failed">
          {resultText('team', comparison)}
        </Notice>
      );
  }
}

type DifferencesProps = Extract<Comparison, { readonly code: 'out-of-sync' }>;

function Differences({ is, shouldBe, sinceSeconds, cause, subscriptionIds }: DifferencesProps) {
  return (
    <>
      <p>
        The team is out of sync with Stripe. {REASONS[cause]}{' '}
        <UntrustedText text={subscriptionIds.join(', ')} />
        {sinceSeconds !== null && (
          <>
            {' '}
            The difference began on <Time ms={sinceSeconds * 1_000} /> at the earliest.
          </>
        )}
      </p>
      <p>
        From your database to Stripe: <Changes is={is} shouldBe={shouldBe} />
      </p>
    </>
  );
}
