import {
  type ComparisonIssue,
  counted,
  explainTeam,
  type OpenIssue,
  type OperateContext,
} from 'instep/operate';
import { Confirm, CSRF_FIELD } from '../components/form.tsx';
import { Changes } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText } from '../components/text.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { TeamLink } from '../links/team-links.tsx';
import { Page } from '../page.tsx';

type ToRepair = {
  readonly count: number;
  /** What was found about the first ones; without a code for a team that nothing was found about. */
  readonly issues: readonly (OpenIssue | Pick<ComparisonIssue, 'team' | 'customerId'>)[];
};

const MAX_LISTED = 50;

export async function readToRepair(
  context: OperateContext,
  ids: readonly string[],
): Promise<ToRepair> {
  const first = await Promise.all(
    ids.slice(0, MAX_LISTED).map(async (id) => await explainTeam(context, id, { limit: 1 })),
  );
  const issues = first.flatMap((one) =>
    one === null ? [] : [one.issue ?? { team: one.team, customerId: one.team.customerId }],
  );
  return { count: ids.length, issues };
}

type RepairQuestionProps = { readonly form: FormData; readonly toRepair: ToRepair };

/** Asks before teams are repaired, because that can't be undone, and shows what would change. */
export function RepairQuestion({ form, toRepair }: RepairQuestionProps) {
  const fields = [...form].filter(([name]) => name !== CSRF_FIELD);
  const title = `Repair ${counted(toRepair.count, 'team')}`;
  return (
    <Page title={`${title}?`} area="Attention">
      <p>Instep asks Stripe again, and then changes the plans. This can't be undone.</p>
      <TeamsToRepair {...toRepair} />
      <Confirm action="/attention" back="/attention" button={title}>
        {fields.map(([name, value]) => (
          <input type="hidden" name={name} value={String(value)} />
        ))}
      </Confirm>
    </Page>
  );
}

/** The first teams that a repair would change, and how. */
export function TeamsToRepair({ issues, count }: ToRepair) {
  return (
    <>
      <Table
        label="Teams to repair"
        columns={['Team', 'Customer', 'Issue', { name: 'Change', class: 'wide' }]}
        rows={issues.map((issue) => [
          issue.team && <TeamLink id={issue.team.id} team={issue.team} />,
          <OptionalText text={issue.customerId} />,
          'code' in issue ? ISSUE_NAMES[issue.code] : '–',
          'code' in issue && 'is' in issue.evidence && issue.evidence.is !== null ? (
            <Changes is={issue.evidence.is} shouldBe={issue.evidence.shouldBe} />
          ) : (
            'what Stripe says'
          ),
        ])}
      />
      {count > issues.length && <p>And {counted(count - issues.length, 'more team')}.</p>}
    </>
  );
}
