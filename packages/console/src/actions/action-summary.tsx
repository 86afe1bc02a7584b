import {
  type ActionChange,
  counted,
  findActions,
  type OperateContext,
  parseSubject,
  type RecordedAction,
} from 'instep/operate';
import { Badge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { UntrustedText } from '../components/text.tsx';
import { queryText } from '../query-parameters.ts';
import { SubjectLink } from './subject-link.tsx';
import { resultText } from './words.ts';

/** More than the body of a form can ask for. */
const MAX_OF_CALL = 5_000;

/** The actions of a call, such as those that a form asked for; none without its id. */
export async function actionsOf(context: OperateContext, callId: unknown) {
  const ofCall = findActions(context, { callId: queryText(callId) });
  const actions = await ofCall.page({ limit: MAX_OF_CALL });
  return actions.sort((a, b) => a.subject.localeCompare(b.subject));
}

/** How many changes of an action are shown. */
const MAX_CHANGES = 5;

/** The result of a recorded action, in sentences. */
export function recordedText({ subject, result, changes }: RecordedAction): string {
  const text = resultText(parseSubject(subject)?.kind ?? null, result);
  return [text, ...changes.slice(0, MAX_CHANGES).map(changeText)].join(' ');
}

/** What became of an action that is not done. */
export const failedWord = ({ result }: RecordedAction) =>
  result.code === 'begun' ? 'not finished' : 'failed';

function changeText({ teamId, before, after }: ActionChange): string {
  const planText = (plan: ActionChange['after']) =>
    plan === null
      ? 'no plan'
      : [plan.planName, plan.subscriptionStatus].filter((one) => one !== null).join(', ');
  return `Team ${teamId}: ${planText(before)} → ${planText(after)}.`;
}

type ActionSummaryProps = {
  readonly actions: readonly RecordedAction[];
  /** The number of rows to which the action does not apply. */
  readonly skipped?: number;
  /** The page to return to after an undo. */
  readonly page?: string;
};

/** The results of the last form, if one was sent: how many rows succeeded, then each row, failures first. */
export function ActionSummary({ actions, skipped = 0, page = '/attention' }: ActionSummaryProps) {
  const [first] = actions;
  const undo = <Undo actions={actions} page={page} />;
  if (first === undefined && skipped === 0) return null;
  const failed = actions.filter(({ isDone }) => !isDone);
  const isDone = failed.length === 0;
  const rows = [...failed, ...actions.filter(({ isDone }) => isDone)];
  const isOne = actions.length === 1 && skipped === 0;
  const all = isDone ? `${actions.length} done` : `${failed.length} of ${actions.length} failed`;
  return (
    <div
      class={`notice ${isDone ? 'done' : 'error'}`}
      role={isDone || !isOne ? 'status' : undefined}
    >
      <strong>{isOne ? (isDone ? 'Done' : 'Failed') : all}</strong>
      <ul>
        {rows.map((action) => (
          <li data-result={action.result.code}>
            {!isOne && (
              <Badge tone={action.isDone ? 'good' : 'bad'}>
                {action.isDone ? 'done' : failedWord(action)}
              </Badge>
            )}{' '}
            <SubjectLink {...action} />:{' '}
            <UntrustedText text={recordedText(action)} maxLength={400} />
          </li>
        ))}
        {skipped > 0 && (
          <li>
            <Badge tone="quiet">skipped</Badge> {counted(skipped, 'row')}: the action does not
            apply.
          </li>
        )}
      </ul>
      {undo}
    </div>
  );
}

type UndoProps = Pick<ActionSummaryProps, 'actions'> & {
  readonly page: string;
  /** Only this one of the call's actions; all by default. */
  readonly subject?: string;
};

/** Takes back what a call did, as far as that is possible. */
export function Undo({ actions, page, subject }: UndoProps) {
  const [first] = actions;
  const count = actions.filter(({ undo }) => undo !== null).length;
  if (first === undefined || count === 0) return null;
  return (
    <PostForm action="/actions/undo">
      <input type="hidden" name="call" value={first.callId} />
      <input type="hidden" name="page" value={page} />
      {subject !== undefined && <input type="hidden" name="subject" value={subject} />}
      <Button>{count === 1 ? 'Undo' : `Undo ${count} actions`}</Button>
    </PostForm>
  );
}
