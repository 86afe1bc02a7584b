import type { Child } from 'hono/jsx';
import {
  ACTIONS,
  type Action,
  type OpenIssue,
  type RecordedAction,
  type Severity,
  subjectText,
  type WaitingCustomer,
} from 'instep-operate';
import { ExpectedFields, ROW_FIELDS } from '../actions/action-form.tsx';
import { recordedText } from '../actions/action-summary.tsx';
import { BUTTONS } from '../actions/words.ts';
import { Badge, type Tone } from '../components/badges.tsx';
import { Button } from '../components/form.tsx';
import { stripeUrl } from '../components/id.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, plainText, Time, UntrustedText } from '../components/text.tsx';
import { ISSUE_NAMES, teamName } from '../links.tsx';
import { canAct } from '../request-context.ts';
import { Who, Whose, Why } from './issue-text.tsx';

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
  readonly issues: readonly OpenIssue[];
  readonly areSelected: boolean;
  /** The customers without a team. */
  readonly waiting: readonly WaitingCustomer[];
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
  issue: OpenIssue,
  index: number,
  { areSelected, waiting, texts, failures }: RowState,
): Child[] {
  const subject = subjectText(issue.subject);
  const customerId = issue.subject.kind === 'team' ? issue.customerId : null;
  const failure = failures.get(subject);
  const whose = waiting.find((one) => one.issue === issue);
  const suggestedId = whose?.suggested ? String(whose.suggested.id) : undefined;
  const text = texts.get(subject) ?? suggestedId;
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
      <ExpectedFields subject={subject} expected={{ customerId }} />
    </>,
    <>
      <Who issue={issue} />
      <Whose waiting={whose} />
    </>,
    <Time ms={issue.sinceMs} format="age" />,
    <>
      <Badge tone={TONES[issue.severity]}>{ISSUE_NAMES[issue.code]}</Badge> <Why issue={issue} />
    </>,
    <Resolution {...{ issue, subject, failure, text }} id={`row-${index}`} />,
  ];
}

type ResolutionProps = {
  readonly issue: OpenIssue;
  readonly subject: string;
  readonly id: string;
  /** What was entered, or the team to link, so that one click is enough. */
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
          value={text}
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

function mainActionOf({ code, team, remedies }: OpenIssue): Action {
  if (code === 'parked-events' && team !== null) return 'replay';
  const isFirst = (action: Action) => action === remedies[0];
  return ACTIONS.find(isFirst) ?? 'dismiss';
}
