import type { RecordedAction } from 'instep/operate';
import { counted } from '../components/amounts.ts';
import { Badge } from '../components/badges.tsx';
import { Notice } from '../components/panels.tsx';
import { UntrustedText } from '../components/text.tsx';
import { parseSubject, SubjectLink } from './subject-link.tsx';
import { resultText } from './words.ts';

/** The result of a recorded action, in a sentence. */
export function recordedText({
  subject,
  result,
}: Pick<RecordedAction, 'subject' | 'result'>): string {
  return resultText(parseSubject(subject)?.kind ?? null, result);
}

type ActionSummaryProps = {
  readonly actions: readonly RecordedAction[];
  /** The number of rows to which the action does not apply. */
  readonly skipped?: number;
};

/** The results of the last form, if one was sent: how many rows succeeded, then each row, failures first. */
export function ActionSummary({ actions, skipped = 0 }: ActionSummaryProps) {
  const [first] = actions;
  if (first === undefined && skipped === 0) return null;
  if (first !== undefined && actions.length === 1 && skipped === 0) {
    return (
      <Notice
        kind={first.isDone ? 'done' : 'error'}
        title={first.isDone ? 'Done' : 'Failed'}
        code={first.result.code}
      >
        <SubjectLink {...first} />: <UntrustedText text={recordedText(first)} maxLength={400} />
      </Notice>
    );
  }
  const failed = actions.filter(({ isDone }) => !isDone);
  const isDone = failed.length === 0;
  const rows = [...failed, ...actions.filter(({ isDone }) => isDone)];
  return (
    <div class={`notice ${isDone ? 'done' : 'error'}`} role="status">
      <strong>
        {isDone ? `${actions.length} done` : `${failed.length} of ${actions.length} failed`}
      </strong>
      <ul>
        {rows.map((action) => (
          <li data-result={action.result.code}>
            <Badge tone={action.isDone ? 'good' : 'bad'}>{action.isDone ? 'done' : 'failed'}</Badge>{' '}
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
    </div>
  );
}
