import { html } from 'hono/html';
import type { ExplainedTeam, StatusWith, TeamSubscription } from 'instep-operate';
import { StatusBadge } from '../components/badges.tsx';
import { shortPlan } from '../components/plan-step.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';

type StatusReasonProps = Pick<ExplainedTeam, 'team' | 'status'>;

/** Why a team has its plan or none. */
export function StatusReason({ team, status }: StatusReasonProps) {
  switch (status.kind) {
    case 'unlinked':
      return html`This team has no Stripe customer yet, so it gets no plan.`;
    case 'app':
      return html`The plan is of your own: your app or an operator wrote it. It stays until a subscription replaces it.`;
    case 'no events':
      return html`No event of this customer has been received.`;
    case 'no effect':
      return html`No event of this customer grants a plan. The last one has the status
        ${meaningOf(status.last.status)}`;
    case 'has plan':
      return html`The team has ${strong(shortPlan(team.plan))}, through subscription
        ${idOf(status.deciding)}, which has been ${<StatusBadge status={status.deciding.status} />}
        since ${<Time ms={status.deciding.sinceMs} />}.`;
    case 'lost plan': {
      const { lostPlan } = team;
      const lost = lostPlan && strong(lostPlan.planName ?? lostPlan.productId);
      const { subscription, status: present, sinceMs } = status.deciding;
      // The plan can have ended before: an unpaid subscription is canceled later.
      return html`Subscription ${idOf(status.deciding)} ${CLEARINGS.get(subscription.status)}. It has been
        ${<StatusBadge status={present} />} since ${<Time ms={sinceMs} />}${lost && html`; its plan was ${lost}`}.`;
    }
    case 'changed by hand':
      return html`The team has ${<UntrustedText text={shortPlan(team.plan)} />}, but its events say
        ${strong(shortPlan(status.shouldBe))}.`;
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

function meaningOf(status: string) {
  const meaning = MEANINGS.get(status);
  const end = meaning === undefined ? ', which has no effect.' : `: ${meaning}.`;
  return html`${<StatusBadge status={status} />}${end}`;
}

const strong = (text: string) => html`<strong>${<UntrustedText text={text} />}</strong>`;

const idOf = ({ subscription }: TeamSubscription) => (
  <OptionalText text={subscription.subscriptionId} fallback="without an id" />
);
