import type { ExplainedTeam, TeamGrant } from 'instep/operate';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { hasPlan, shortPlan } from '../components/plan-step.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { teamUrl } from '../links/team-links.tsx';
import { canAct } from '../request-context.ts';

/** The plan, the end and the reason of a grant. */
export function GrantText({ grant }: { readonly grant: TeamGrant }) {
  const { planName, endsAtMs, reason } = grant;
  return (
    <>
      <strong>
        <UntrustedText text={planName} />
      </strong>
      {endsAtMs !== null && (
        <>
          {' '}
          until <Time ms={endsAtMs} format="slot" />
        </>
      )}
      , “<UntrustedText text={reason} maxLength={500} />”
    </>
  );
}

type GrantPanelProps = Pick<ExplainedTeam, 'team' | 'status' | 'grants'>;

/** Grants a plan, ends a grant, or makes one of a plan that was written by hand. Each says what it changes. */
export function GrantPanel({ team: { id, plan }, status, grants: [newest] }: GrantPanelProps) {
  if (!canAct()) return null;
  const isByHand = status.kind === 'changed by hand' && !hasPlan(status.shouldBe) && hasPlan(plan);
  return (
    <Panel title="Granted plan" id="grant">
      {newest?.holds ? (
        <Revoke {...{ id, status }} grant={newest} />
      ) : isByHand && plan.planName !== null ? (
        <PostForm action={`${teamUrl(id)}/keep-as-grant`}>
          <p>
            The team keeps <UntrustedText text={shortPlan(plan)} />, which no event gave it, and no
            repair takes it away.
          </p>
          <ReasonAndEnd button="Keep as a grant" />
        </PostForm>
      ) : (
        <details>
          <summary>Grant a plan without a subscription</summary>
          <PostForm action={`${teamUrl(id)}/grant`}>
            <p>
              {status.kind === 'has plan'
                ? 'Its subscription takes precedence. The team gets the granted plan when that has ended.'
                : 'The team gets it at once, until it ends or until a subscription grants a plan.'}
            </p>
            <div class="row">
              <Field label="Plan" name="plan" maxlength={200} required />
              <Field label="Product, if your app needs it" name="product" maxlength={200} />
            </div>
            <ReasonAndEnd button="Grant" />
          </PostForm>
        </details>
      )}
    </Panel>
  );
}

function ReasonAndEnd({ button }: { readonly button: string }) {
  return (
    <div class="row">
      <Field label="Reason" name="note" id="grant-reason" maxlength={500} required />
      <Field label="Until the end of" name="until" type="date" />
      <Button>{button}</Button>
    </div>
  );
}

type RevokeProps = Pick<GrantPanelProps, 'status'> &
  Pick<GrantPanelProps['team'], 'id'> & { readonly grant: TeamGrant };

function Revoke({ id, status, grant }: RevokeProps) {
  return (
    <PostForm action={`${teamUrl(id)}/revoke-grant`}>
      <p>
        <UntrustedText text={grant.grantedBy} /> granted <GrantText grant={grant} />.{' '}
        {status.kind === 'granted' ? (
          <>
            Without it, the team has <UntrustedText text={shortPlan(status.otherwise)} />.
          </>
        ) : (
          'The team has another plan now, so that revoking it changes nothing at once.'
        )}
      </p>
      <Button>Revoke the grant</Button>
    </PostForm>
  );
}
