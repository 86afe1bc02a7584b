import { Hono } from 'hono';
import { type Bulk, type BulkRuns, counted, countText, type OperateContext } from 'instep/operate';
import { Button, PostForm } from '../components/form.tsx';
import { Live } from '../components/live.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { capitalized, Time, UntrustedText } from '../components/text.tsx';
import { ISSUE_NAMES, issuesUrl } from '../links/issue-links.tsx';
import { Page } from '../page.tsx';
import { badRequest, notFound } from '../problems.tsx';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import { recordedText } from './action-summary.tsx';
import { SubjectLink } from './subject-link.tsx';
import { BUTTONS, bulkText } from './words.ts';

/** The page of a bulk action. */
export const bulkUrl = (callId: string) => `/actions/bulk/${callId}`;

/** `/actions/bulk/…`: how far an action on all matching issues is, and its exceptions. */
export function bulkPages(options: OperateContext, runs: BulkRuns): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/:call', async ({ req, render }) => {
    const bulk = await runs.read(req.param('call'));
    if (bulk === null) throw notFound();
    const { record, issue, state } = bulk;
    const url = bulkUrl(record.callId);
    const isRunning = state === 'running';
    const action = capitalized(BUTTONS[record.action as keyof typeof BUTTONS]);
    return render(
      <Page
        title={`${action}: all ${issue === null ? 'issues' : ISSUE_NAMES[issue]}`}
        area="Attention"
      >
        <Live id="bulk" url={isRunning ? url : null} intervalSeconds={1} atMs={options.now()}>
          <p>
            Started by <UntrustedText text={record.operator} />{' '}
            <Time ms={Math.floor(record.actedAtMicroseconds / 1_000)} />
            {record.note !== null && (
              <>
                {' '}
                (<UntrustedText text={record.note} maxLength={500} />)
              </>
            )}
            .
          </p>
          {isRunning ? <Running {...bulk} /> : <Ended {...bulk} />}
          <Exceptions {...bulk} />
          <p>
            <a href={isRunning ? url : issuesUrl(issue)}>
              {isRunning ? 'Refresh' : 'Back to the list'}
            </a>
          </p>
        </Live>
      </Page>,
    );
  });

  app.post('/:call', async (context) => {
    const callId = context.req.param('call');
    const { cancel } = await context.req.parseBody();
    const operator = operatorOf(context.var);
    if (cancel !== undefined) {
      await runs.cancel(operator, callId);
      return context.redirect(bulkUrl(callId), 303);
    }
    const undoing = await runs.undo(operator, callId);
    if (undoing === null) throw badRequest('This action can not be undone.');
    return context.redirect(bulkUrl(undoing), 303);
  });

  return app;
}

function Running(bulk: Bulk) {
  const { total, done, failed, record } = bulk;
  const ended = done + failed;
  return (
    <>
      <p role="status">
        {total === null ? (
          'Counting…'
        ) : (
          <>
            <progress max={Math.max(total, 1)} value={ended} aria-label="Progress" />{' '}
            {bulkText(bulk)}
          </>
        )}
      </p>
      <p class="quiet">
        It continues without this page. If the server is stopped, what is done stays, and the rest
        is unchanged.
      </p>
      <PostForm action={bulkUrl(record.callId)}>
        <p>
          <Button name="cancel" value="yes">
            Cancel
          </Button>
        </p>
      </PostForm>
    </>
  );
}

function Ended(bulk: Bulk) {
  const { state, failed, record } = bulk;
  const isDone = state === 'done' && failed === 0;
  return (
    <>
      <Notice kind={isDone ? 'done' : 'error'} title={capitalized(state)}>
        {bulkText(bulk)}
      </Notice>
      {bulk.canUndo && (
        <PostForm action={bulkUrl(record.callId)}>
          <Button>Undo {counted(bulk.done, 'action')}</Button>
        </PostForm>
      )}
    </>
  );
}

function Exceptions({ failures, failed }: Bulk) {
  if (failures.length === 0) return null;
  return (
    <>
      <Table
        label="Exceptions"
        columns={['Subject', { name: 'Result', class: 'wide' }]}
        rows={failures.map((action) => [
          <SubjectLink {...action} />,
          <UntrustedText text={recordedText(action)} maxLength={400} />,
        ])}
      />
      {failed > failures.length && (
        <p>
          The first {countText(failures.length)} of {countText(failed)}. The export of{' '}
          <a href="/actions">what operators did</a> has all.
        </p>
      )}
    </>
  );
}
