import { counted, type ExplainedTeam, explainTeam, type OperateContext } from 'instep/operate';
import { Confirm, CSRF_FIELD } from '../components/form.tsx';
import { Changes } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText } from '../components/text.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { TeamLink } from '../links/team-links.tsx';
import { Page } from '../page.tsx';

type ToRepair = {
  readonly count: number;
  /** The first ones, and what the last comparison found. */
  readonly first: readonly Pick<ExplainedTeam, 'team' | 'issue'>[];
};

const MAX_LISTED = 50;

export async function readToRepair(
  context: OperateContext,
  ids: readonly string[],
): Promise<ToRepair> {
  const first = await Promise.all(
    ids.slice(0, MAX_LISTED).map(async (id) => await explainTeam(context, id, { limit: 1 })),
  );
  return { count: ids.length, first: first.filter((one) => one !== null) };
}

type RepairQuestionProps = { readonly form: FormData; readonly toRepair: ToRepair };

/** Asks before teams are repaired, because that can't be undone, and shows what would change. */
export function RepairQuestion({ form, toRepair: { count, first } }: RepairQuestionProps) {
  const fields = [...form].filter(([name]) => name !== CSRF_FIELD);
  const title = `Repair ${counted(count, 'team')}`;
  return (
    <Page title={`${title}?`} area="Attention">
      <p>Instep asks Stripe again, and then changes the plans. This can't be undone.</p>
      <Table
        label="Teams to repair"
        columns={['Team', 'Customer', 'Issue', { name: 'Change', class: 'wide' }]}
        rows={first.map(({ team, issue }) => [
          <TeamLink id={team.id} team={team} />,
          <OptionalText text={team.customerId} />,
          issue === null ? '–' : ISSUE_NAMES[issue.code],
          issue?.evidence.is ? (
            <Changes is={issue.evidence.is} shouldBe={issue.evidence.shouldBe} />
          ) : (
            'what Stripe says'
          ),
        ])}
      />
      {count > first.length && <p>And {counted(count - first.length, 'more team')}.</p>}
      <Confirm action="/attention" back="/attention" button={title}>
        {fields.map(([name, value]) => (
          <input type="hidden" name={name} value={String(value)} />
        ))}
      </Confirm>
    </Page>
  );
}
