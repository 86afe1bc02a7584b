import {
  type Action,
  type ActionChange,
  type ActionRequest,
  type ApplicationId,
  findActions,
  type OperateContext,
  parseSubject,
  type RecordedAction,
  subjectText,
} from 'instep-operate';
import { Badge, type Tone } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { UntrustedText } from '../components/text.tsx';
import { ExpectedFields, LINK_FIELD } from '../links/issue-links.tsx';
import { queryText } from '../query-parameters.ts';
import { SubjectLink } from './subject-link.tsx';
import { BUTTONS, resultText } from './words.ts';

/** More than a form can choose. */
const MAX_OF_CALL = 1_000;

/** The actions of a call, such as those that a form asked for; none without its id. */
export async function actionsOf(context: OperateContext, callId: unknown) {
  const ofCall = findActions(context, { callId: queryText(callId) });
  const { actions } = await ofCall.page({ limit: MAX_OF_CALL });
  return [...actions].sort((a, b) => a.subject.localeCompare(b.subject));
}

/** The result of a recorded action, in sentences. Of a plan that it changed several times, it says the first and the last. */
export function recordedText({ subject, result, changes }: RecordedAction): string {
  const before = new Map(changes.toReversed().map((change) => [change.teamId, change.before]));
  const after = new Map(changes.map((change) => [change.teamId, change.after]));
  const texts = [...after].map(([teamId, plan]) => {
    const former = before.get(teamId) ?? null;
    return `Team ${teamId}: ${planText(former)} → ${planText(plan)}.`;
  });
  return [resultText(parseSubject(subject)?.kind ?? null, result), ...texts].join(' ');
}

function planText(plan: ActionChange['after']): string {
  if (plan === null) return 'no plan';
  return [plan.planName, plan.subscriptionStatus]
    .filter((one) => (one ?? null) !== null)
    .join(', ');
}

/** What became of an action. */
export function stateWord({ isDone, result }: RecordedAction): keyof typeof TONES {
  if (isDone) return 'done';
  if (result.code === 'does-not-apply') return 'nothing to do';
  return result.code === 'begun' ? 'not finished' : 'failed';
}

const TONES = {
  done: 'good',
  'nothing to do': 'quiet',
  'not finished': 'bad',
  failed: 'bad',
} as const satisfies Readonly<Record<string, Tone>>;

export function StateBadge({ action }: { readonly action: RecordedAction }) {
  const word = stateWord(action);
  return <Badge tone={TONES[word]}>{word}</Badge>;
}

type ActionSummaryProps = {
  readonly actions: readonly RecordedAction[];
  /** The team on whose page they are shown. */
  readonly teamId?: ApplicationId | undefined;
};

/** The results of the last form, if one was sent: how many rows succeeded, then each row, failures first. */
export function ActionSummary({ actions, teamId }: ActionSummaryProps) {
  if (actions.length === 0) return null;
  const done = actions.filter(({ isDone }) => isDone);
  const others = actions.filter(({ isDone }) => !isDone);
  const failed = others.filter(({ result }) => result.code !== 'does-not-apply');
  const isOne = actions.length === 1;
  const isGood = others.length === 0 || (failed.length === 0 && !isOne);
  const all =
    failed.length === 0 ? `${done.length} done` : `${failed.length} of ${actions.length} failed`;
  return (
    <div
      class={`notice ${isGood ? 'done' : 'error'}`}
      role={isGood || !isOne ? 'status' : undefined}
    >
      <strong>{isOne ? (isGood ? 'Done' : 'Failed') : all}</strong>
      <ul>
        {[...others, ...done].map((action) => (
          <li data-result={action.result.code}>
            {!isOne && <StateBadge action={action} />} <SubjectLink {...action} />:{' '}
            <UntrustedText text={recordedText(action)} maxLength={400} />
          </li>
        ))}
      </ul>
      <ReverseForms {...{ actions, teamId }} />
    </div>
  );
}

/** A button for each action that reverses some of these. Its form has what the rows must still be like. */
export function ReverseForms({ actions, teamId }: ActionSummaryProps) {
  const reversing = actions.flatMap(({ reverse }) => reverse ?? []);
  const names = new Set(reversing.map(({ action }) => action));
  return [...names].map((name) => {
    const rows = reversing.filter(({ action }) => action === name);
    return (
      <PostForm action="/attention">
        {teamId !== undefined && <input type="hidden" name="team" value={String(teamId)} />}
        {rows.map((request) => (
          <ReverseFields request={request} />
        ))}
        <Button name="action" value={name}>
          {REVERSING[name] ?? BUTTONS[name]}
          {rows.length > 1 && ` ${rows.length}`}
        </Button>
      </PostForm>
    );
  });
}

function ReverseFields({ request }: { readonly request: ActionRequest }) {
  const subject = subjectText(request.subject);
  return (
    <>
      <input type="hidden" name="row" value={subject} />
      {'linkTo' in request && (
        <input type="hidden" name={LINK_FIELD + subject} value={request.linkTo} />
      )}
      <ExpectedFields subject={subject} {...expectedBy(request)} />
    </>
  );
}

const expectedBy = (request: ActionRequest) => ({
  customerId: 'expectedCustomerId' in request ? request.expectedCustomerId : null,
  dismissalId: 'expectedDismissalId' in request ? request.expectedDismissalId : null,
});

const REVERSING: Readonly<Partial<Record<Action, string>>> = { link: 'Link again' };
