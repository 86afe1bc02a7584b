import type { Child } from 'hono/jsx';
import {
  counted,
  countText,
  findIssues,
  type OpenIssue,
  type OperateContext,
  type SubjectIssueCode,
  subjectText,
} from 'instep/operate';
import { Button, CSRF_FIELD, PostForm } from '../components/form.tsx';
import { Changes } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { TeamLink } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { Who } from './issue-table.tsx';
import { MAX_CHOSEN, type Selection } from './selection.ts';

/** What is asked before an action that changes several teams, or that can't be undone. */
const QUESTIONS = {
  repair: {
    kind: 'team',
    text: (count: number) => `Repair ${counted(count, 'team')}`,
    effect: "Instep asks Stripe again, and then changes the plans. This can't be undone.",
    change: ({ evidence }: OpenIssue): Child =>
      'is' in evidence && evidence.is !== null ? (
        <Changes is={evidence.is} shouldBe={evidence.shouldBe} />
      ) : (
        'what Stripe says'
      ),
  },
  'link-suggested': {
    kind: 'customer',
    text: (count: number) => `Link ${counted(count, 'customer')}`,
    effect:
      'Each customer is linked to the team that the metadata of its subscription names, and the team gets its plan.',
    change: ({ evidence }: OpenIssue): Child =>
      'suggestedTeam' in evidence &&
      evidence.suggestedTeam && (
        <TeamLink id={evidence.suggestedTeam.id} team={evidence.suggestedTeam} />
      ),
  },
} as const;

type Question = {
  readonly action: keyof typeof QUESTIONS;
  readonly count: number;
  /** Those that are still on the list. */
  readonly issues: readonly OpenIssue[];
};

/** What to ask before a form of the list is acted on; `null`: nothing. */
export async function questionFor(
  services: OperateContext,
  { requests }: Selection,
  code: SubjectIssueCode | null,
): Promise<Question | null> {
  const action = requests[0]?.action;
  if (action !== 'repair' && action !== 'link-suggested') return null;
  const chosen = requests.filter(({ subject }) => subject.kind === QUESTIONS[action].kind);
  const subjects = new Set(chosen.map(({ subject }) => subjectText(subject)));
  const found = (await findIssues(services, code).first(MAX_CHOSEN)).issues;
  const issues = found.filter(
    ({ subject, remedies }) => subjects.has(subjectText(subject)) && remedies.includes(action),
  );
  const onPage = found.filter(({ subject }) => subjects.has(subjectText(subject))).length;
  const count = issues.length + subjects.size - onPage;
  return count === 0 ? null : { action, count, issues };
}

type QuestionPageProps = { readonly form: FormData; readonly question: Question };

/** Asks, and shows what would change. */
export function QuestionPage({ form, question: { action, count, issues } }: QuestionPageProps) {
  const fields = [...form].filter(([name]) => name !== CSRF_FIELD);
  const { text, effect, change } = QUESTIONS[action];
  return (
    <Page title={`${text(count)}?`} area="Attention">
      <p>{effect}</p>
      <Table
        label="What would change"
        columns={['Team or customer', 'Issue', { name: 'Change', class: 'wide' }]}
        rows={issues.map((issue) => [
          <Who issue={issue} />,
          ISSUE_NAMES[issue.code],
          change(issue),
        ])}
      />
      {count > issues.length && <p>And {countText(count - issues.length)} more.</p>}
      <PostForm action="/attention">
        {fields.map(([name, value]) => (
          <input type="hidden" name={name} value={String(value)} />
        ))}
        <div class="toolbar">
          <Button kind="main" name="confirmed" value="yes">
            {text(count)}
          </Button>
          <a href="/attention">Cancel</a>
        </div>
      </PostForm>
    </Page>
  );
}
