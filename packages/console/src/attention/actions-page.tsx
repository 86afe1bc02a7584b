import { Hono } from 'hono';
import type { OperateContext } from 'instep/operate';
import { type RecordedAction, readActions } from 'instep/operate/inside';
import { Badge } from '../components/badges.tsx';
import { ExportLinks } from '../components/export-links.tsx';
import { Pager } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { exportFormatOf, exportList } from '../export.ts';
import { Page } from '../page.tsx';
import { queryNumber } from '../query-parameters.ts';
import { exportedActions } from './export-actions.ts';
import { SubjectLink } from './subject-link.tsx';

const LIMIT = 50;

const COLUMNS = ['When', 'Action', 'Subject', { name: 'Result', class: 'wide' }, 'Note'] as const;

/** `/actions`: what operators did in the console, newest first. */
export function actionsPage(options: OperateContext): Hono {
  const { query } = options.database;
  return new Hono().get('/', async (context) => {
    const { req, render } = context;
    const format = exportFormatOf(context);
    if (format !== null) return exportList(context, format, exportedActions, options);
    const before = queryNumber(req.query('before'));
    const actions = await readActions(query, { before, limit: LIMIT });
    const last = actions.length < LIMIT ? undefined : actions.at(-1);
    return render(
      <Page title="What operators did" area="Attention">
        <p>Actions in this console during the last year. Commands are not listed.</p>
        {actions.length > 0 ? (
          <>
            <ExportLinks what="all actions" url="/actions" />
            <Table label="Actions" columns={COLUMNS} rows={actions.map(cellsOf)} />
          </>
        ) : (
          <Notice kind="empty" title={before === null ? 'No actions yet' : 'No older actions'} />
        )}
        <Pager
          first={before !== null && { href: '/actions', text: 'Newest' }}
          next={
            last !== undefined && {
              href: `/actions?before=${last.actedAtMicroseconds}`,
              text: 'Older',
            }
          }
        />
      </Page>,
    );
  });
}

function cellsOf(recorded: RecordedAction) {
  const { actedAtMicroseconds, action, isDone, result, note } = recorded;
  return [
    <Time ms={Math.floor(actedAtMicroseconds / 1_000)} />,
    action,
    <SubjectLink {...recorded} />,
    <>
      {!isDone && <Badge tone="bad">failed</Badge>} <UntrustedText text={result} maxLength={400} />
    </>,
    <OptionalText text={note} maxLength={500} />,
  ];
}
