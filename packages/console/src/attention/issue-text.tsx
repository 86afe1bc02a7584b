import { html } from 'hono/html';
import {
  type ComparisonEvidence,
  countText,
  durationText,
  MAX_COUNTED_OF_CUSTOMER,
  type OpenIssue,
  subscriptionOf,
  type WaitingCustomer,
} from 'instep-operate';
import { causeText } from '../actions/words.ts';
import { StatusBadge } from '../components/badges.tsx';
import { Id, PersonText } from '../components/id.tsx';
import { differingFields, PlanStep } from '../components/plan-step.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { CustomerLink, EventLink, ReasonText, TeamLink } from '../links.tsx';
import { currentRequest } from '../request-context.ts';

/** What the issue is about. */
export function Who({ issue }: { readonly issue: OpenIssue }) {
  if (issue.code === 'unreadable-event') return <EventLink event={issue.evidence.event} />;
  const { team, customerId } = issue;
  return (
    <>
      {team !== null && (
        <div>
          <TeamLink id={team.id} team={team} />
        </div>
      )}
      {customerId !== null && <CustomerLink customerId={customerId} />}
    </>
  );
}

/** Whom a customer without a team stands for, and whose it probably is. */
export function Whose({ waiting }: { readonly waiting: WaitingCustomer | undefined }) {
  if (waiting === undefined) return null;
  const { person, candidates } = waiting;
  // Without a label on a phone, where the cell is empty.
  const isKnown = (person?.name ?? person?.email ?? null) !== null;
  if (!isKnown && candidates.length === 0) return null;
  return (
    <>
      <div>
        <PersonText person={person} />
      </div>
      {candidates.map(({ team, because }) => (
        <div class="quiet">
          {because === 'metadata'
            ? 'Its metadata names the team '
            : 'Its address is of a person of the team '}
          <TeamLink id={team.id} team={team} />
          {team.customerId &&
            html`, which has another customer: ${<CustomerLink customerId={team.customerId} />}`}
        </div>
      ))}
    </>
  );
}

type WhyProps = { readonly issue: OpenIssue };

/** Why the issue is on the list, in a sentence. */
export function Why({ issue }: WhyProps) {
  switch (issue.code) {
    case 'unreadable-event':
      return <ReasonText reason={issue.evidence.reason} />;
    case 'unknown-order':
      return html`Subscription ${<Id text={issue.evidence.subscriptionId} />} has same-second events
        whose order is unknown. The later arrival counts until Stripe is asked.`;
    case 'paid-without-plan': {
      const { subscriptionId, planName } = issue.evidence;
      return html`The customer pays for ${<OptionalText text={planName} fallback="a plan" />}
        (${<Id text={subscriptionId ?? ''} />}), but another subscription ended later, and the newest
        event decides. Set TEAM_PLAN=best, or cancel the subscription at Stripe.`;
    }
    case 'payment-due':
      return html`The team keeps its plan, although a payment for subscription
        ${<Id text={issue.evidence.subscriptionId} />} is due. Stripe says
        ${<StatusBadge status="past_due" />}. Cancel the subscription at Stripe, or set PAST_DUE_GRACE.`;
    case 'end-not-confirmed':
      return html`Subscription ${<Id text={issue.evidence.subscriptionId} />} should have ended, and no
        event has confirmed it. The team has no access until Stripe is asked.`;
    case 'charged-twice':
      return <WhyChargedTwice {...issue} />;
    case 'parked-events':
      return <WhyParked {...issue} />;
    default:
      return <WhyFound {...issue.evidence} />;
  }
}

type ParkedIssue = Extract<OpenIssue, { readonly code: 'parked-events' }>;

function WhyParked({ team, evidence, sinceMs }: ParkedIssue) {
  const { events, newest, productName } = evidence;
  const count =
    events === 1 ? '1 event waits' : `${countText(events, MAX_COUNTED_OF_CUSTOMER)} events wait`;
  if (team !== null) {
    return html`${count}, although the team is now linked to the customer. A running server replays them
      within seconds, unless the database refuses them.`;
  }
  const says = newest && subscriptionOf(newest);
  return (
    <>
      No team is linked to this customer. {count}.{' '}
      {says?.status === 'active' &&
        `The customer has paid ${durationText(currentRequest().nowMs - sinceMs)} without a plan. `}
      {says &&
        html`The newest says ${<StatusBadge status={says.status} />}${productText(productName, says.productId)}. `}
    </>
  );
}

type ChargedTwice = Extract<OpenIssue, { readonly code: 'charged-twice' }>;

/** What the customer pays for, and which of it the team has. */
function WhyChargedTwice({ team, evidence: { subscriptions } }: ChargedTwice) {
  return (
    <>
      Stripe charges the customer for {countText(subscriptions.length)} subscriptions:
      <ul>
        {subscriptions.map(({ providerSubscriptionId: id, quantity, priceId, ...one }) => (
          <li>
            <StatusBadge status={one.status} />
            {productText(one.planName, one.providerProductId)} (<Id text={id ?? ''} />)
            {quantity && ` × ${countText(quantity)}`}
            {priceId && html`, price ${<Id text={priceId} />}`}, since <Time ms={one.sinceMs} />
            {team?.plan.providerSubscriptionId === id && '. The team has this one'}.
          </li>
        ))}
      </ul>
      Cancel at Stripe what is not wanted, or dismiss it, with a note, if it is on purpose.
    </>
  );
}

/** The name of a product, or its id; nothing without either. */
function productText(name: string | null, id: string | null) {
  const shown = name === null ? id && <Id text={id} /> : <UntrustedText text={name} />;
  return shown && html` for ${shown}`;
}

function WhyFound(evidence: ComparisonEvidence) {
  const { is, shouldBe } = evidence;
  if (is === null || shouldBe === null) return html`${causeText(evidence)}`;
  const isChange = differingFields(is, shouldBe).length > 0;
  return html`${causeText(evidence)} ${isChange && 'Repair would change:'}
    ${<PlanStep before={is} after={shouldBe} />}`;
}
