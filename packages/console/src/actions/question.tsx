import {
  type ActionRequest,
  counted,
  countText,
  findIssues,
  type OpenIssue,
  type OperateContext,
  type SubjectIssueCode,
  subjectText,
} from 'instep-operate';
import { Who } from '../attention/issue-text.tsx';
import { Button, Field, PostForm } from '../components/form.tsx';
import { PlanStep } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { ISSUE_NAMES } from '../links.tsx';
import { Page } from '../page.tsx';
import { MAX_CHOSEN } from './selection.ts';

type Question = {
  readonly action: keyof typeof ASKED;
  readonly count: number;
  /** Those that are still on the list. */
  readonly issues: readonly OpenIssue[];
};

const ASKED = {
  repair: {
    word: 'Repair',
    noun: 'team',
    text: "Instep asks Stripe again, and then changes the plans. This can't be undone.",
  },
  dismiss: {
    word: 'Dismiss',
    noun: 'issue',
    text: 'Hides each of them until it changes. Comparisons still repair its team. What was dismissed, with the note, stays on the page of what operators did, and can be restored there.',
  },
} as const;

/** What a form would do that must be asked about; `null`: nothing. */
export async function readQuestion(
  services: OperateContext,
  requests: readonly ActionRequest[],
  code: SubjectIssueCode | undefined,
): Promise<Question | null> {
  const action = requests[0]?.action;
  if (action !== 'repair' && action !== 'dismiss') return null;
  const subjects = new Set(requests.map(({ subject }) => subjectText(subject)));
  const { rows: found } = await findIssues(services, { code }).page({ limit: MAX_CHOSEN });
  const listed = found.filter(({ subject }) => subjects.has(subjectText(subject)));
  const issues = listed.filter(({ remedies }) => remedies.includes(action));
  // What is no longer on the list is acted on all the same, and what has no such remedy is not.
  const count = subjects.size - countSubjects(listed) + countSubjects(issues);
  return count === 0 ? null : { action, count, issues };
}

const countSubjects = (issues: readonly OpenIssue[]) =>
  new Set(issues.map(({ subject }) => subjectText(subject))).size;

const WIDE = { name: 'Change', class: 'wide' } as const;

type QuestionPageProps = {
  readonly form: FormData;
  readonly question: Question;
  readonly back: string;
};

/** Asks, and shows what would change. */
export function QuestionPage({
  form,
  back,
  question: { action, count, issues },
}: QuestionPageProps) {
  const { word, noun, text } = ASKED[action];
  const isRepair = action === 'repair';
  const title = `${word} ${counted(count, noun)}`;
  return (
    <Page title={`${title}?`} area="Attention">
      <p>{text}</p>
      <Table
        label="What would change"
        columns={['Team or customer', 'Issue', ...(isRepair ? [WIDE] : [])]}
        rows={issues.map((issue) => [
          <Who issue={issue} />,
          ISSUE_NAMES[issue.code],
          ...(isRepair ? [<Change issue={issue} />] : []),
        ])}
      />
      {count > issues.length && <p>And {countText(count - issues.length)} more.</p>}
      <PostForm action="/actions">
        {[...form].map(([name, value]) => (
          <input type="hidden" name={name} value={String(value)} />
        ))}
        <div class="row">
          {!isRepair && <Field label="Note" name="note" maxlength={500} />}
          <Button kind="main" name="confirmed" value="yes">
            {title}
          </Button>
          <a class="button" href={back}>
            Cancel
          </a>
        </div>
      </PostForm>
    </Page>
  );
}

function Change({ issue: { evidence } }: { readonly issue: OpenIssue }) {
  if (!('is' in evidence) || evidence.is === null) return <>what Stripe says</>;
  return <PlanStep before={evidence.is} after={evidence.shouldBe} />;
}
