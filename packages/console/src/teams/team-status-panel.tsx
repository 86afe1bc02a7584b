import {
  type ComparisonIssue,
  GRANTING_STATUSES,
  type NamedTeam,
  type PlanSelection,
  type Since,
  type StatusWith,
  type SubscriptionState,
  type TeamNote,
  type TeamStatus,
} from 'instep-operate';
import { causeText } from '../actions/words.ts';
import { TONES } from '../attention/issue-table.tsx';
import { Badge, StatusBadge, type Tone } from '../components/badges.tsx';
import { type Fact, Facts, Panel } from '../components/panels.tsx';
import { otherFields, shortPlan } from '../components/plan-step.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { CustomerFact } from '../links/event-links.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';

type TeamStatusPanelProps = {
  readonly team: NamedTeam;
  /** What the last comparison found, if it still holds. */
  readonly issue: ComparisonIssue | null;
  /** Whether the team needs another customer first. */
  readonly isLinkable: boolean;
  /** Whether the page shows a comparison with Stripe. */
  readonly isCompared: boolean;
  readonly status: TeamStatus;
  readonly notes: readonly TeamNote[];
  readonly planSelection: PlanSelection;
};

/** Why a team has its plan or none, readable within ten seconds. */
export function TeamStatusPanel({ issue, planSelection, notes, ...reason }: TeamStatusPanelProps) {
  const { team, status } = reason;
  const { word, tone } = BADGES[status.kind];
  // Both compare the row with its events.
  const isSaid = status.kind === 'changed by hand' && issue?.code === 'changed-by-hand';
  return (
    <Panel title="Current plan" id="plan">
      {issue === null || isSaid ? (
        <p class="lead" data-status={status.kind}>
          <Badge tone={tone}>{word}</Badge> <Reason {...reason} />
        </p>
      ) : (
        <>
          <p class="lead" data-issue={issue.code}>
            <Found issue={issue} isCompared={reason.isCompared} />
          </p>
          <p data-status={status.kind}>
            <Reason {...reason} />
          </p>
        </>
      )}
      {notes.map((note) => (
        <p>
          <Note note={note} planSelection={planSelection} />
        </p>
      ))}
      <Facts facts={factsOf(team)} />
    </Panel>
  );
}

const BADGES = {
  'has plan': { word: 'has a plan', tone: 'good' },
  'lost plan': { word: 'no plan', tone: 'bad' },
  unlinked: { word: 'no plan', tone: 'warning' },
  app: { word: 'has a plan', tone: 'good' },
  'no events': { word: 'no events', tone: 'warning' },
  'no effect': { word: 'no plan', tone: 'warning' },
  'changed by hand': { word: 'changed by hand', tone: 'bad' },
} as const satisfies Record<TeamStatus['kind'], { readonly word: string; readonly tone: Tone }>;

type FoundProps = Pick<TeamStatusPanelProps, 'isCompared'> & { readonly issue: ComparisonIssue };

/** What the last comparison found, and where to resolve it. */
function Found({ issue: { code, severity, evidence, sinceMs }, isCompared }: FoundProps) {
  return (
    <>
      <Badge tone={TONES[severity]}>{ISSUE_NAMES[code]}</Badge>, found{' '}
      <Time ms={sinceMs} format="age" />. {causeText(evidence)}{' '}
      {code === 'unknown-customer' ? (
        <a href="#link">Link another customer</a>
      ) : (
        <CompareLink isCompared={isCompared} />
      )}
    </>
  );
}

function CompareLink({ isCompared }: Pick<TeamStatusPanelProps, 'isCompared'>) {
  return (
    <a href="#comparison">
      {isCompared ? 'See the comparison below' : 'Compare this team with Stripe'}
    </a>
  );
}

type ReasonProps = Pick<TeamStatusPanelProps, 'team' | 'status' | 'isLinkable' | 'isCompared'>;

function Reason({ team, status, isLinkable, isCompared }: ReasonProps) {
  switch (status.kind) {
    case 'unlinked':
      return (
        <>
          This team has no Stripe customer yet, so it gets no plan.{' '}
          <a href="#link">Link its customer</a>
        </>
      );
    case 'app':
      return <>Plan written by your app. It stays until a subscription replaces it.</>;
    case 'no events':
      return (
        <>
          No event of this customer has been received.
          {!isLinkable && (
            <>
              {' '}
              If Stripe shows a subscription,{' '}
              <a href="#comparison">compare this team with Stripe</a>.
            </>
          )}
        </>
      );
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
          . <CompareLink isCompared={isCompared} />, then repair it.
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

function Note({ note, planSelection }: NoteProps) {
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

function factsOf({ customerId, plan, lostPlan, dueSinceMs }: NamedTeam): readonly Fact[] {
  const { subscriptionStatus: status = null, planName = null } = plan;
  const { providerProductId: productId = null, providerSubscriptionId: id = null } = plan;
  return [
    ['Customer', <CustomerFact customerId={customerId} />],
    ['Status', <StatusBadge status={status} isDue={dueSinceMs !== null} />],
    [
      'Plan',
      lostPlan === null ? (
        <OptionalText
          text={planName}
          fallback={productId === null ? 'none' : 'unknown name'}
          maxLength={120}
        />
      ) : (
        <span class="quiet">
          was <UntrustedText text={lostPlan.planName ?? lostPlan.productId} maxLength={60} />
        </span>
      ),
    ],
    ['Product', <StripeId text={productId} />],
    ['Subscription', <StripeId text={id} />],
    ...otherFields(plan).map(({ label, text }): Fact => [label, <OptionalText text={text} />]),
  ];
}
