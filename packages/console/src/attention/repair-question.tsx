import {
  counted,
  countText,
  findIssues,
  type OpenIssue,
  type OperateContext,
  type SubjectIssueCode,
  subjectText,
} from 'instep-operate';
import { Button, CSRF_FIELD, PostForm } from '../components/form.tsx';
import { Changes } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { Page } from '../page.tsx';
import { Who } from './issue-table.tsx';
import { MAX_CHOSEN, type Selection } from './selection.ts';

type RepairQuestion = {
  readonly count: number;
  /** Those that are still on the list. */
  readonly issues: readonly OpenIssue[];
};

/** What a form of the list would repair, which can't be undone; `null`: nothing. */
export async function readRepairQuestion(
  services: OperateContext,
  { requests }: Selection,
  code: SubjectIssueCode | null,
): Promise<RepairQuestion | null> {
  const repairs = requests.filter(
    ({ action, subject }) => action === 'repair' && subject.kind === 'team',
  );
  if (repairs.length === 0) return null;
  const subjects = new Set(repairs.map(({ subject }) => subjectText(subject)));
  const { issues: found } = await findIssues(services, code).first(MAX_CHOSEN);
  const listed = found.filter(({ subject }) => subjects.has(subjectText(subject)));
  const issues = listed.filter(({ remedies }) => remedies.includes('repair'));
  const count = issues.length + subjects.size - listed.length;
  return count === 0 ? null : { count, issues };
}

type RepairQuestionPageProps = { readonly form: FormData; readonly question: RepairQuestion };

/** Asks, and shows what would change. */
export function RepairQuestionPage({ form, question: { count, issues } }: RepairQuestionPageProps) {
  const fields = [...form].filter(([name]) => name !== CSRF_FIELD);
  const repair = `Repair ${counted(count, 'team')}`;
  return (
    <Page title={`${repair}?`} area="Attention">
      <p>Instep asks Stripe again, and then changes the plans. This can't be undone.</p>
      <Table
        label="What would change"
        columns={['Team or customer', 'Issue', { name: 'Change', class: 'wide' }]}
        rows={issues.map((issue) => [
          <Who issue={issue} />,
          ISSUE_NAMES[issue.code],
          <Change issue={issue} />,
        ])}
      />
      {count > issues.length && <p>And {countText(count - issues.length)} more.</p>}
      <PostForm action="/attention">
        {fields.map(([name, value]) => (
          <input type="hidden" name={name} value={String(value)} />
        ))}
        <div class="toolbar">
          <Button kind="main" name="confirmed" value="yes">
            {repair}
          </Button>
          <a href="/attention">Cancel</a>
        </div>
      </PostForm>
    </Page>
  );
}

function Change({ issue: { evidence } }: { readonly issue: OpenIssue }) {
  if (!('is' in evidence) || evidence.is === null) return <>what Stripe says</>;
  return <Changes is={evidence.is} shouldBe={evidence.shouldBe} />;
}
