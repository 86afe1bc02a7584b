import { Hono } from 'hono';
import {
  ACTIONS,
  countIssues,
  findIssues,
  type IssueCounts,
  type OpenIssue,
  type OperateContext,
  readWaitingCustomers,
  reasonText,
  SUBJECT_ISSUES,
  type SubjectIssueCode,
} from 'instep-operate';
import { ActionForm } from '../actions/action-form.tsx';
import { ActionSummary, actionsOf } from '../actions/action-summary.tsx';
import { MAX_CHOSEN, readTexts } from '../actions/selection.ts';
import { BUTTONS, causeText } from '../actions/words.ts';
import { Button } from '../components/form.tsx';
import { ExportLink } from '../components/list.tsx';
import { Notice } from '../components/panels.tsx';
import { capitalized } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { ISSUE_NAMES, issueCountText } from '../links.tsx';
import { Page } from '../page.tsx';
import { urlWith } from '../query-parameters.ts';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { IssueTable, type IssueTableProps } from './issue-table.tsx';

/** `/attention`: everything that is wrong with single teams, customers and events, and its remedy. */
export function attentionPage(services: OperateContext): Hono<ConsoleEnv> {
  return new Hono<ConsoleEnv>().get('/', async (context) => {
    const { req, render } = context;
    const issue = req.query('issue');
    const code = SUBJECT_ISSUES.find((one) => one === issue);
    const file = exportList(context, services.logger, {
      name: 'attention',
      columns: EXPORTED,
      rows: findIssues(services, { code }).all(),
    });
    if (file !== null) return file;
    const areSelected = req.query('select') === 'all';
    const [{ rows, next }, counts, acted] = await Promise.all([
      findIssues(services, { code }).page({ limit: MAX_CHOSEN }),
      countIssues(services),
      actionsOf(services, req.query('done')),
    ]);
    const asksStripe = canAct(context.var);
    const waiting = await readWaitingCustomers(services, rows, { asksStripe });
    const texts = readTexts(new URL(req.url).searchParams);
    const failures = new Map(acted.flatMap((one) => (one.isDone ? [] : [[one.subject, one]])));
    return render(
      <Page title="Needs attention" area="Attention">
        <ActionSummary actions={acted} back={urlWith('/attention', { issue: code ?? null })} />
        <Codes counts={counts} current={code} />
        {rows.length === 0 ? (
          <NoIssues isFiltered={code !== undefined} />
        ) : (
          <>
            <ExportLink path="/attention" fields={{ issue: code ?? '' }} />
            <IssueForm
              {...{ issues: rows, code, areSelected, waiting, texts, failures }}
              isMore={next !== null}
            />
          </>
        )}
        <p>
          <a href="/actions">What operators did</a>
        </p>
      </Page>,
    );
  });
}

type CodesProps = {
  readonly counts: IssueCounts;
  readonly current: SubjectIssueCode | undefined;
};

/** The codes that occur, each with its count. */
function Codes({ counts, current }: CodesProps) {
  const codes = SUBJECT_ISSUES.filter((code) => counts[code].count > 0 || code === current);
  if (codes.length === 0) return null;
  return (
    <nav class="pager" aria-label="Issues">
      <a href={'/attention'} aria-current={current === undefined ? 'true' : undefined}>
        All
      </a>
      {codes.map((code) => (
        <a
          href={urlWith('/attention', { issue: code ?? null })}
          aria-current={code === current ? 'true' : undefined}
        >
          {capitalized(ISSUE_NAMES[code])} ({issueCountText(counts[code])})
        </a>
      ))}
    </nav>
  );
}

function NoIssues({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <Notice kind="empty" title={isFiltered ? 'No such issue' : 'No team needs attention'}>
      {isFiltered && <a href={'/attention'}>All issues</a>} Teams are compared with their events
      continuously, and with Stripe by a <a href="/compare">comparison</a>. Issues of the whole
      service, such as teams that are not compared yet, are on the <a href="/">overview</a>.
    </Notice>
  );
}

type IssueFormProps = IssueTableProps & {
  readonly code: SubjectIssueCode | undefined;
  /** Whether there are more than these. */
  readonly isMore: boolean;
};

function IssueForm({ issues, isMore, code, ...rows }: IssueFormProps) {
  const { areSelected } = rows;
  const actions = ACTIONS.filter((action) =>
    issues.some(({ remedies }) => remedies.some((remedy) => remedy === action)),
  );
  const table = (
    <>
      <IssueTable issues={issues} {...rows} />
      {isMore && (
        <p class="quiet">
          Showing the {issues.length} most severe issues. There are more: choose a kind above,
          resolve some of these, or export all.
        </p>
      )}
    </>
  );
  if (!canAct()) return table;
  return (
    <ActionForm back={urlWith('/attention', { issue: code ?? null })}>
      <input type="hidden" name="issue" value={code ?? ''} />
      {/* The Enter key presses a form's first button. In a row, a script presses the row's button. */}
      <button type="submit" hidden disabled />
      {table}
      <div class="toolbar">
        <a
          href={urlWith(
            '/attention',
            { issue: code ?? null },
            areSelected ? {} : { select: 'all' },
          )}
        >
          {areSelected ? 'Deselect all rows' : 'Select all rows'}
        </a>
        <span class="row-count" />
        {actions.map((action) => (
          <Button name="action" value={action}>
            {BUTTONS[action]}
          </Button>
        ))}
      </div>
      <p class="quiet">The buttons apply to the selected rows.</p>
    </ActionForm>
  );
}

function reasonOf({ evidence }: OpenIssue): string | null {
  if ('reason' in evidence) return reasonText(evidence.reason);
  return 'cause' in evidence ? causeText(evidence) : null;
}

const EXPORTED: Columns<OpenIssue> = {
  issue: ({ code }) => code,
  since: ({ sinceMs }) => exportedTime(sinceMs),
  team: ({ team }) => team?.id ?? null,
  name: ({ team }) => team?.name ?? null,
  customer: ({ customerId }) => customerId,
  reason: reasonOf,
  is: ({ evidence }) => ('is' in evidence ? evidence.is && JSON.stringify(evidence.is) : null),
  should_be: ({ evidence }) =>
    'shouldBe' in evidence ? evidence.shouldBe && JSON.stringify(evidence.shouldBe) : null,
};
