import {
  type ActionRequest,
  findActions,
  type OperateContext,
  parseSubject,
  type RecordedAction,
  subjectText,
} from 'instep-operate';
import { Badge, type Tone } from '../components/badges.tsx';
import { Button } from '../components/form.tsx';
import { shortPlan } from '../components/plan-step.tsx';
import { capitalized, UntrustedText } from '../components/text.tsx';
import { SubjectLink } from '../links.tsx';
import { queryText } from '../query-parameters.ts';
import { ActionForm, ExpectedFields, ROW_FIELDS } from './action-form.tsx';
import { BUTTONS, resultText } from './words.ts';

/** More than a form can choose. */
const MAX_OF_CALL = 1_000;

/** The actions of a call, such as those that a form asked for; none without its id. */
export async function actionsOf(context: OperateContext, callId: unknown) {
  const ofCall = findActions(context, { callId: queryText(callId) });
  const { rows } = await ofCall.page({ limit: MAX_OF_CALL });
  return rows.toSorted((a, b) => a.subject.localeCompare(b.subject));
}

/** The result of a recorded action, in sentences. Of a plan that it changed several times, it says the first and the last. */
export function recordedText({ subject, result, changes }: RecordedAction): string {
  const before = new Map(changes.toReversed().map((change) => [change.teamId, change.before]));
  const after = new Map(changes.map((change) => [change.teamId, change.after]));
  const texts = [...after].map(([teamId, plan]) => {
    const former = before.get(teamId) ?? null;
    return `Team ${teamId}: ${shortPlan(former)} → ${shortPlan(plan)}.`;
  });
  return [resultText(parseSubject(subject)?.kind ?? null, result), ...texts].join(' ');
}

/** What became of an action. */
export function stateWord({ isDone, result }: RecordedAction): keyof typeof TONES {
  if (result.code === 'out-of-sync') return 'out of sync';
  if (isDone) return 'done';
  if (result.code === 'does-not-apply') return 'nothing to do';
  return result.code === 'begun' ? 'not finished' : 'failed';
}

const TONES = {
  done: 'good',
  'nothing to do': 'quiet',
  'out of sync': 'bad',
  'not finished': 'bad',
  failed: 'bad',
} as const satisfies Readonly<Record<string, Tone>>;

export function StateBadge({ action }: { readonly action: RecordedAction }) {
  const word = stateWord(action);
  return <Badge tone={TONES[word]}>{word}</Badge>;
}

type ActionSummaryProps = {
  readonly actions: readonly RecordedAction[];
  /** The page that shows them. */
  readonly back: string;
};

/** The results of the last form, if one was sent: how many rows succeeded, then each row, failures first. */
export function ActionSummary({ actions, back }: ActionSummaryProps) {
  const [first] = actions;
  if (first === undefined) return null;
  const wordOf = (action: RecordedAction) => TONES[stateWord(action)];
  const done = actions.filter((action) => wordOf(action) === 'good');
  const others = actions.filter((action) => wordOf(action) !== 'good');
  const failed = others.filter((action) => wordOf(action) === 'bad').length;
  const isOne = actions.length === 1;
  const isGood = others.length === 0 || (failed === 0 && !isOne);
  const all = failed === 0 ? `${done.length} done` : `${failed} of ${actions.length} failed`;
  return (
    <div
      class={`notice ${isGood ? 'done' : 'error'}`}
      role={isGood || !isOne ? 'status' : undefined}
    >
      <strong>{isOne ? capitalized(stateWord(first)) : all}</strong>
      <ul>
        {[...others, ...done].map((action) => (
          <li data-result={action.result.code}>
            {!isOne && <StateBadge action={action} />} <SubjectLink {...action} />:{' '}
            <UntrustedText text={recordedText(action)} maxLength={400} />
          </li>
        ))}
      </ul>
      <ReverseForms {...{ actions, back }} />
    </div>
  );
}

/** A button for each action that reverses some of these. Its form has what the rows must still be like. */
export function ReverseForms({ actions, back }: ActionSummaryProps) {
  const reversing = actions.flatMap(({ reverse }) => reverse ?? []);
  const names = new Set(reversing.map(({ action }) => action));
  return [...names].map((name) => {
    const rows = reversing.filter(({ action }) => action === name);
    return (
      <ActionForm back={back} isConfirmed>
        {rows.map((request) => (
          <ReverseFields request={request} />
        ))}
        <Button name="action" value={name}>
          {name === 'link' ? 'Link again' : BUTTONS[name]}
          {rows.length > 1 && ` ${rows.length}`}
        </Button>
      </ActionForm>
    );
  });
}

function ReverseFields({ request }: { readonly request: ActionRequest }) {
  const subject = subjectText(request.subject);
  const expected = {
    customerId: 'expectedCustomerId' in request ? request.expectedCustomerId : null,
  };
  return (
    <>
      <input type="hidden" name="row" value={subject} />
      {'linkTo' in request && (
        <input type="hidden" name={ROW_FIELDS.link + subject} value={request.linkTo} />
      )}
      <ExpectedFields {...{ subject, expected }} />
    </>
  );
}
