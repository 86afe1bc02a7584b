import type { Child } from 'hono/jsx';
import type { Action, RecordedAction } from 'instep/operate';
import {
  changeOf,
  countText,
  isSamePlan,
  MAX_COUNTED_OF_CUSTOMER,
  whyUnreadable,
} from 'instep/operate/inside';
import { recordedText } from '../actions/action-summary.tsx';
import { REASONS } from '../actions/words.ts';
import { Badge, StatusBadge, type Tone } from '../components/badges.tsx';
import { Button } from '../components/form.tsx';
import { Id } from '../components/id.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { CustomerLink, EventLink, ReasonText } from '../links/event-links.tsx';
import { type IssueKind, LINK_FIELD } from '../links/issue-links.tsx';
import { teamName, teamUrl } from '../links/team-links.tsx';
import { Changes } from '../reconcile/finding-table.tsx';
import { type OpenIssue, subjectOf, teamOf } from './open-issues.ts';

export const TONES: Readonly<Record<IssueKind, Tone>> = {
  'out of sync': 'bad',
  'changed by hand': 'bad',
  'plan refused': 'bad',
  'unknown customer': 'warning',
  'customer without a team': 'warning',
  parked: 'warning',
  'unknown order': 'warning',
  unreadable: 'bad',
};

/** What an operator can do about a kind of issue. */
export const ACTIONS_OF: Readonly<Record<IssueKind, readonly Action[]>> = {
  'out of sync': ['repair', 'compare', 'dismiss'],
  'changed by hand': ['repair', 'compare', 'dismiss'],
  'plan refused': ['repair', 'compare', 'dismiss'],
  'unknown customer': ['link', 'compare', 'dismiss'],
  'customer without a team': ['link', 'dismiss'],
  parked: ['link', 'replay', 'dismiss'],
  'unknown order': ['compare', 'dismiss'],
  unreadable: ['replay', 'dismiss'],
};

export const BUTTONS: Readonly<Record<Action, string>> = {
  link: 'Link and replay',
  unlink: 'Unlink',
  replay: 'Replay',
  compare: 'Compare',
  repair: 'Repair',
  dismiss: 'Dismiss',
};

/** The actions that change teams or delete events. */
const DANGERS: ReadonlySet<Action> = new Set(['repair', 'dismiss', 'unlink']);

export const buttonKindOf = (action: Action) => (DANGERS.has(action) ? 'danger' : 'quiet');

const COLUMNS = [
  'Select',
  'Team or customer',
  'Problem',
  'Since',
  { name: 'Why', class: 'wide' },
  'Resolve',
] as const;

export type IssueTableProps = {
  readonly issues: readonly OpenIssue[];
  readonly areSelected: boolean;
  /** The texts in the rows' fields, by subject. */
  readonly texts: ReadonlyMap<string, string>;
  /** The rows' last actions that failed. */
  readonly failures: ReadonlyMap<string, RecordedAction>;
};

/** The rows of the list. The surrounding form sends those that are selected. */
export function IssueTable({ issues, ...state }: IssueTableProps) {
  const rows = issues.map((issue, index) => issueCells(issue, `row-${index}`, state));
  const ids = issues.map((issue) => ('event' in issue ? issue.event.eventId : issue.customerId));
  return <Table label="Issues" columns={COLUMNS} rows={rows} ids={ids} />;
}

type RowState = Omit<IssueTableProps, 'issues'>;

function issueCells(
  issue: OpenIssue,
  id: string,
  { areSelected, texts, failures }: RowState,
): Child[] {
  const subject = subjectOf(issue);
  const input = { id, text: texts.get(subject), failure: failures.get(subject) };
  return [
    <input
      type="checkbox"
      name="row"
      value={subject}
      checked={areSelected}
      aria-label={`Row of ${labelOf(subject)}`}
    />,
    <Who issue={issue} />,
    <Badge tone={TONES[issue.kind]}>{issue.kind}</Badge>,
    <Time ms={issue.sinceMs} />,
    <Why issue={issue} />,
    <Resolution issue={issue} subject={subject} {...input} />,
  ];
}

/** For screen readers. */
function labelOf(subject: string): string {
  return subject.slice(0, 80).toWellFormed();
}

function Who({ issue }: { readonly issue: OpenIssue }) {
  if ('event' in issue) return <EventLink event={issue.event} />;
  const team = teamOf(issue);
  return (
    <>
      {team !== null && (
        <div>
          <a href={teamUrl(team.id)}>
            <UntrustedText text={teamName(team)} maxLength={60} />
          </a>
        </div>
      )}
      {issue.customerId !== null && <CustomerLink customerId={issue.customerId} />}
    </>
  );
}

/** Why the issue is on the list, in a sentence. */
export function Why({ issue }: { readonly issue: OpenIssue }) {
  if ('event' in issue) {
    return <ReasonText reason={whyUnreadable(issue.event)} />;
  }
  if ('ambiguity' in issue) {
    return (
      <>
        Subscription <Id text={issue.ambiguity.subscriptionId} /> has same-second events whose order
        is unknown. The later arrival counts until Stripe is asked.
      </>
    );
  }
  if ('parked' in issue) return <WhyParked {...issue} />;
  return <WhyFound {...issue} />;
}

function WhyParked({ parked, newest, teams }: Extract<OpenIssue, { parked: unknown }>) {
  const { events } = parked;
  const count =
    events === 1 ? '1 event waits' : `${countText(events, MAX_COUNTED_OF_CUSTOMER)} events wait`;
  if (teams.length > 0) {
    return (
      <>
        {count}, although the team is now linked to the customer. A running server replays them
        within seconds, unless the database refuses them.
      </>
    );
  }
  const subscription = newest === null ? undefined : changeOf(newest)?.subscription;
  return (
    <>
      No team is linked to this customer. {count}.
      {subscription !== undefined && (
        <>
          {' '}
          The newest says <StatusBadge status={subscription.status} />
          {subscription.productId !== null && (
            <>
              {' '}
              for <Id text={subscription.productId} />
            </>
          )}
          .
        </>
      )}
    </>
  );
}

function WhyFound({ finding }: Extract<OpenIssue, { finding: unknown }>) {
  const { problem, plan, shouldBe } = finding;
  return (
    <>
      {REASONS[problem]}
      {plan !== null && shouldBe !== null && (
        <>
          {!isSamePlan(plan, shouldBe) && ' Repair would change:'}
          <Changes is={plan} shouldBe={shouldBe} />
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

/** The main action of a row, with its field. */
function Resolution({ issue, subject, id, text, failure }: ResolutionProps) {
  const action = mainActionOf(issue);
  const isOfTeam = issue.kind === 'unknown customer';
  const isNotLinked = failure?.action === 'link';
  return (
    <>
      {action === 'link' && (
        <input
          type="text"
          name={`${LINK_FIELD}${subject}`}
          value={text}
          maxlength={200}
          placeholder={isOfTeam ? 'Customer id (cus_…)' : 'Team id or name'}
          aria-label={`${isOfTeam ? 'Customer' : 'Team'} for ${labelOf(subject)}`}
          autocomplete="off"
          aria-describedby={isNotLinked ? `${id}-error` : undefined}
          aria-invalid={isNotLinked ? 'true' : undefined}
        />
      )}
      <Button name="one" value={`${action} ${subject}`} kind={buttonKindOf(action)}>
        {BUTTONS[action]}
      </Button>
      {failure !== undefined && (
        <p class="error" id={`${id}-error`}>
          <UntrustedText text={recordedText(failure)} maxLength={400} />
        </p>
      )}
    </>
  );
}

function mainActionOf({ kind, teams }: OpenIssue): Action {
  if (kind === 'parked' && teams.length > 0) return 'replay';
  return ACTIONS_OF[kind][0] ?? 'dismiss';
}
