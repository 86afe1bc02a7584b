import type { Child } from 'hono/jsx';
import {
  ACTIONS,
  type Action,
  type ComparisonIssue,
  countText,
  type ListedIssue,
  MAX_COUNTED_OF_CUSTOMER,
  type OpenIssue,
  type RecordedAction,
  type Severity,
  subjectText,
  subscriptionOf,
} from 'instep-operate';
import { ExpectedFields, ROW_FIELDS } from '../actions/action-form.tsx';
import { recordedText } from '../actions/action-summary.tsx';
import { BUTTONS, causeText } from '../actions/words.ts';
import { Badge, StatusBadge, type Tone } from '../components/badges.tsx';
import { Button } from '../components/form.tsx';
import { Id, stripeUrl } from '../components/id.tsx';
import { Changes, differingFields } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, plainText, Time, UntrustedText } from '../components/text.tsx';
import { CustomerLink, EventLink, ReasonText } from '../links/event-links.tsx';
import { ISSUE_NAMES } from '../links/issue-links.ts';
import { TeamLink, teamName } from '../links/subject-links.tsx';
import { canAct } from '../request-context.ts';

export const TONES: Readonly<Record<Severity, Tone>> = {
  failure: 'bad',
  warning: 'warning',
  notice: 'quiet',
};

const COLUMNS = [
  'Select',
  'Team or customer',
  'Since',
  { name: 'Why', class: 'wide' },
  'Resolve',
] as const;

export type IssueTableProps = {
  readonly issues: readonly ListedIssue[];
  readonly areSelected: boolean;
  readonly names: ProductNames;
  /** The texts in the rows' fields, by subject. */
  readonly texts: ReadonlyMap<string, string>;
  /** The rows' last actions that failed. */
  readonly failures: ReadonlyMap<string, RecordedAction>;
};

/** The rows of the list. The surrounding form sends those that are selected, and viewers have none. */
export function IssueTable({ issues, ...state }: IssueTableProps) {
  const [first, last] = canAct() ? [0, COLUMNS.length] : [1, -1];
  return (
    <Table
      label="Issues"
      columns={COLUMNS.slice(first, last)}
      rows={issues.map((issue, index) => issueCells(issue, index, state).slice(first, last))}
    />
  );
}

type RowState = Omit<IssueTableProps, 'issues'>;

function issueCells(
  issue: ListedIssue,
  index: number,
  { areSelected, names, texts, failures }: RowState,
): Child[] {
  const subject = subjectText(issue.subject);
  const { dismissalId } = issue;
  const customerId = issue.subject.kind === 'team' ? issue.customerId : null;
  const failure = failures.get(subject);
  return [
    <>
      <input
        type="checkbox"
        name="row"
        value={subject}
        checked={areSelected}
        data-actions={issue.remedies.join(' ')}
        aria-label={`Row of ${plainText(subject)}`}
      />
      <ExpectedFields subject={subject} expected={{ customerId, dismissalId }} />
    </>,
    <Who issue={issue} />,
    <Time ms={issue.sinceMs} format="age" />,
    <>
      <Badge tone={TONES[issue.severity]}>{ISSUE_NAMES[issue.code]}</Badge>{' '}
      <Why issue={issue} names={names} />
    </>,
    <Resolution {...{ issue, subject, failure }} id={`row-${index}`} text={texts.get(subject)} />,
  ];
}

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

/** The names of products by their ids. */
export type ProductNames = ReadonlyMap<string, string>;

/** The products that issues show, whose names are to be read. */
export const productsOf = (issues: readonly OpenIssue[]) =>
  issues.flatMap(({ evidence }) => {
    const newest = 'newest' in evidence ? evidence.newest : null;
    return (newest && subscriptionOf(newest)?.productId) ?? [];
  });

type WhyProps = { readonly issue: OpenIssue; readonly names: ProductNames };

/** Why the issue is on the list, in a sentence. */
export function Why({ issue, names }: WhyProps) {
  switch (issue.code) {
    case 'unreadable-event':
      return <ReasonText reason={issue.evidence.reason} />;
    case 'unknown-order':
      return (
        <>
          Subscription <Id text={issue.evidence.subscriptionId} /> has same-second events whose
          order is unknown. The later arrival counts until Stripe is asked.
        </>
      );
    case 'paid-without-plan': {
      const { subscriptionId, planName } = issue.evidence;
      return (
        <>
          The customer pays for <OptionalText text={planName} fallback="a plan" /> (
          <Id text={subscriptionId ?? ''} />
          ), but another subscription ended later, and the newest event decides. Set TEAM_PLAN=best,
          or cancel the subscription at Stripe.
        </>
      );
    }
    case 'payment-due':
      return (
        <>
          The team keeps its plan, although a payment for subscription{' '}
          <Id text={issue.evidence.subscriptionId} /> is due. Stripe says{' '}
          <StatusBadge status="past_due" />. Cancel the subscription at Stripe, or set
          PAST_DUE_GRACE.
        </>
      );
    case 'end-not-confirmed':
      return (
        <>
          Subscription <Id text={issue.evidence.subscriptionId} /> should have ended, and no event
          has confirmed it. The team has no access until Stripe is asked.
        </>
      );
    case 'double-billed':
      return <WhyDouble {...issue} />;
    case 'parked-events':
      return <WhyParked issue={issue} names={names} />;
    default:
      return <WhyFound {...issue} />;
  }
}

type ParkedIssue = Extract<OpenIssue, { readonly code: 'parked-events' }>;

type WhyParkedProps = { readonly issue: ParkedIssue; readonly names: ProductNames };

function WhyParked({ issue: { team, evidence }, names }: WhyParkedProps) {
  const { events, newest, suggestedTeam } = evidence;
  const count =
    events === 1 ? '1 event waits' : `${countText(events, MAX_COUNTED_OF_CUSTOMER)} events wait`;
  if (team !== null) {
    return (
      <>
        {count}, although the team is now linked to the customer. A running server replays them
        within seconds, unless the database refuses them.
      </>
    );
  }
  const { status, productId = null } = (newest && subscriptionOf(newest)) ?? {};
  return (
    <>
      No team is linked to this customer. {count}.
      {status !== undefined && (
        <>
          {' '}
          The newest says <StatusBadge status={status} />
          <Product name={names.get(productId ?? '') ?? null} id={productId} />.
        </>
      )}
      {suggestedTeam !== null && (
        <>
          {' '}
          Its metadata names the team <TeamLink id={suggestedTeam.id} team={suggestedTeam} />
          {suggestedTeam.customerId !== null && (
            <>
              , which has another customer: <CustomerLink customerId={suggestedTeam.customerId} />
            </>
          )}
          .
        </>
      )}
    </>
  );
}

type DoubleBilled = Extract<OpenIssue, { readonly code: 'double-billed' }>;

/** What the customer pays for, and which of it the team has. */
function WhyDouble({ team, evidence: { subscriptions } }: DoubleBilled) {
  return (
    <>
      Stripe charges the customer for {countText(subscriptions.length)} subscriptions:
      <ul>
        {subscriptions.map(({ subscriptionId, status, planName, productId, ...one }) => (
          <li>
            <StatusBadge status={status} />
            <Product name={planName} id={productId} />
            {' ('}
            <Id text={subscriptionId} />)
            {one.quantity !== null && <> × {countText(one.quantity)}</>}
            {one.priceId !== null && (
              <>
                , price <Id text={one.priceId} />
              </>
            )}
            , since <Time ms={one.sinceMs} />
            {team?.plan.providerSubscriptionId === subscriptionId && '. The team has this one'}.
          </li>
        ))}
      </ul>
      Cancel at Stripe what is not wanted, or dismiss it, with a note, if it is on purpose.
    </>
  );
}

function Product({ name, id }: { readonly name: string | null; readonly id: string | null }) {
  if (name === null && id === null) return null;
  return <> for {name === null ? <Id text={id ?? ''} /> : <UntrustedText text={name} />}</>;
}

function WhyFound({ evidence }: ComparisonIssue) {
  const { is, shouldBe } = evidence;
  return (
    <>
      {causeText(evidence)}
      {is !== null && shouldBe !== null && (
        <>
          {differingFields(is, shouldBe).length > 0 && ' Repair would change: '}
          <Changes is={is} shouldBe={shouldBe} />
        </>
      )}
    </>
  );
}

type ResolutionProps = {
  readonly issue: OpenIssue;
  readonly subject: string;
  readonly id: string;
  /** What was entered. */
  readonly text: string | undefined;
  /** The last action, if it failed. */
  readonly failure: RecordedAction | undefined;
};

/** The remedy of a row, with its field. */
function Resolution({ issue, subject, id, text, failure }: ResolutionProps) {
  const action = mainActionOf(issue);
  const isOfTeam = issue.code === 'unknown-customer';
  const isNotLinked = failure?.action === 'link';
  const customerUrl = isOfStripe(issue) ? stripeUrl(issue.customerId) : null;
  return (
    <>
      {action === 'link' && (
        <input
          type="text"
          name={ROW_FIELDS.link + subject}
          value={text ?? suggestedIdOf(issue)}
          maxlength={200}
          placeholder={isOfTeam ? 'Customer id (cus_…)' : 'Team id, name or email'}
          aria-label={`${isOfTeam ? 'Customer' : 'Team'} for ${plainText(subject)}`}
          autocomplete="off"
          aria-describedby={isNotLinked ? `${id}-error` : undefined}
          aria-invalid={isNotLinked ? 'true' : undefined}
        />
      )}
      {customerUrl !== null && (
        <a class="button main" href={customerUrl} rel="noreferrer">
          Open at Stripe
        </a>
      )}
      <Button
        kind={action === 'dismiss' ? 'quiet' : 'main'}
        name="one"
        value={`${action} ${subject}`}
      >
        {BUTTONS[action]}
      </Button>
      {failure !== undefined && (
        <p class="error" id={`${id}-error`}>
          <UntrustedText text={recordedText(failure)} maxLength={400} />
        </p>
      )}
      {failure?.result.code === 'several-teams' &&
        failure.result.candidates.map(({ id, name, planName }) => (
          <Button name={ROW_FIELDS.choose + subject} value={String(id)}>
            <span>
              Link to <UntrustedText text={teamName({ id, name })} maxLength={40} /> (team {id},{' '}
              <OptionalText text={planName} fallback="no plan" />)
            </span>
          </Button>
        ))}
    </>
  );
}

/** Whether only a change at Stripe resolves it. */
const isOfStripe = ({ remedies }: OpenIssue) =>
  remedies.some((remedy) => remedy === 'collect-payment' || remedy === 'cancel-subscription');

/** The team to link, so that one click is enough. */
function suggestedIdOf(issue: OpenIssue): string | undefined {
  if (issue.code !== 'parked-events') return undefined;
  const { suggestedTeam } = issue.evidence;
  return suggestedTeam?.customerId === null ? String(suggestedTeam.id) : undefined;
}

function mainActionOf({ code, team, remedies }: OpenIssue): Action {
  if (code === 'parked-events' && team !== null) return 'replay';
  const isFirst = (action: Action) => action === remedies[0];
  return ACTIONS.find(isFirst) ?? 'dismiss';
}
