import {
  type ExplainedTeam,
  GRANTING_STATUSES,
  type PlanSelection,
  type Since,
  type StatusWith,
  type SubscriptionState,
  type TeamNote,
} from 'instep-operate';
import { StatusBadge } from '../components/badges.tsx';
import { shortPlan } from '../components/plan-step.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';

type StatusReasonProps = Pick<ExplainedTeam, 'team' | 'status'>;

/** Why a team has its plan or none. */
export function StatusReason({ team, status }: StatusReasonProps) {
  switch (status.kind) {
    case 'unlinked':
      return <>This team has no Stripe customer yet, so it gets no plan.</>;
    case 'app':
      return <>Plan written by your app. It stays until a subscription replaces it.</>;
    case 'no events':
      return <>No event of this customer has been received.</>;
    case 'no effect':
      return (
        <>
          No event of this customer grants a plan. The last one has the status{' '}
          <StatusBadge status={status.last.status} />
          {meaningOf(status.last.status)}
        </>
      );
    case 'has plan':
      return (
        <>
          The team has{' '}
          <strong>
            <UntrustedText text={shortPlan(team.plan)} />
          </strong>
          . Its customer has had it <SinceText {...status.since} />, through subscription{' '}
          <Id of={status.deciding} />.
        </>
      );
    case 'lost plan':
      return (
        <>
          Subscription <Id of={status.deciding} /> {CLEARINGS.get(status.deciding.status)}. The
          customer has had no plan <SinceText {...status.since} />
          {team.lostPlan !== null && (
            <>
              ; before that, it had{' '}
              <strong>
                <UntrustedText text={team.lostPlan.planName ?? team.lostPlan.productId} />
              </strong>
            </>
          )}
          .
        </>
      );
    case 'changed by hand':
      return (
        <>
          The team has <UntrustedText text={shortPlan(team.plan)} />, but its events say{' '}
          <strong>
            <UntrustedText text={shortPlan(status.shouldBe)} />
          </strong>
          .
        </>
      );
  }
}

/** Why a subscription no longer grants a plan. */
const CLEARINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    canceled: 'was canceled',
    unpaid: 'is unpaid: Stripe has stopped retrying its payments',
  } satisfies Record<StatusWith<'clears'>, string>),
);

/** The meanings of statuses without an effect. */
const MEANINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    incomplete: 'the first payment is pending',
    incomplete_expired: 'the first payment failed',
    past_due: 'a payment failed, and Stripe is retrying it',
    paused: 'the trial ended without a payment method',
  } satisfies Record<StatusWith<'none'>, string>),
);

function meaningOf(status: string): string {
  const meaning = MEANINGS.get(status);
  return meaning === undefined ? ', which has no effect.' : `: ${meaning}.`;
}

function SinceText({ seconds, isExact }: Since) {
  return (
    <>
      {isExact ? 'since' : 'since at least'} <Time ms={seconds * 1_000} />
    </>
  );
}

const SELECTION_RULES = {
  newest:
    'the newest event decides. TEAM_PLAN=best would keep the best subscription that grants a plan.',
  best: `${GRANTING_STATUSES.join(' beats ')}, then the newer one wins.`,
} as const satisfies Record<PlanSelection, string>;

type NoteProps = { readonly note: TeamNote; readonly planSelection: PlanSelection };

/** What else there is to know about a team's plan. */
export function StatusNote({ note, planSelection }: NoteProps) {
  switch (note.kind) {
    case 'other live':
      return (
        <>
          {note.count > 1 && `${note.count} other subscriptions would also grant a plan. `}
          Subscription <Id of={note.newest} /> is <StatusBadge status={note.newest.status} />, but
          another one decides the plan. With TEAM_PLAN={planSelection}{' '}
          {SELECTION_RULES[planSelection]}
        </>
      );
    case 'unknown order':
      return (
        <>
          Subscription <Id of={note.subscription} /> has same-second events whose order is unknown.
          Instep asks Stripe; until Stripe answers, the later arrival counts.
        </>
      );
    case 'newest without effect':
      return (
        <>
          The newest event has the status <StatusBadge status={note.newest.status} />
          {meaningOf(note.newest.status)} The plan stays as it was.
        </>
      );
    case 'unnamed product':
      return (
        <>
          The name of product <UntrustedText text={note.productId} /> is unknown. Instep asks Stripe
          every hour. Check that STRIPE_SECRET_KEY can read products.
        </>
      );
    case 'parked':
      return note.count === 1
        ? '1 event arrived before the team had this customer. A running server applies it within seconds.'
        : `${note.count} events arrived before the team had this customer. A running server applies them within seconds.`;
  }
}

function Id({ of: { subscriptionId } }: { readonly of: SubscriptionState }) {
  return <OptionalText text={subscriptionId} fallback="without an id" />;
}
