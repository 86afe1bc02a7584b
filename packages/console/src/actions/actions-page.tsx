import { Hono } from 'hono';
import { findActions, type OperateContext, type RecordedAction } from 'instep-operate';
import { ExportLink } from '../components/export-link.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { Field } from '../components/form.tsx';
import { ListEnd, readStart } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { Page } from '../page.tsx';
import { queryNumber, queryText, urlWith } from '../query-parameters.ts';
import type { ConsoleEnv } from '../request-context.ts';
import { ReverseForms, recordedText, StateBadge } from './action-summary.tsx';
import { SubjectLink } from './subject-link.tsx';

const LIMIT = 50;

const COLUMNS = [
  'When',
  'Who',
  'Action',
  'Subject',
  { name: 'Result', class: 'wide' },
  'Note',
] as const;

/** `/actions`: what operators did, newest first. */
export function actionsPage(options: OperateContext): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async (context) => {
    const { req, render } = context;
    const operator = queryText(req.query('operator'));
    const filter = { operator: operator || undefined };
    const file = exportList(context, options, {
      name: 'actions',
      columns: EXPORTED,
      rows: (reading) => findActions(reading, filter).all(),
    });
    if (file !== null) return file;
    const start = readStart((name) => queryNumber(req.query(name)));
    const { actions, ...ends } = await findActions(options, filter).page({ start, limit: LIMIT });
    return render(
      <Page title="What operators did" area="Attention">
        <p>The actions of the last year, in this console, in your app and with commands.</p>
        <FilterForm
          label="Actions"
          path="/actions"
          fields={{ operator }}
          inputs={<Field label="Operator" name="operator" type="search" value={operator} />}
        />
        {actions.length > 0 ? (
          <>
            <ExportLink url={actionsUrl(operator)} />
            <Table label="Actions" columns={COLUMNS} rows={actions.map(actionCells)} />
          </>
        ) : (
          <Notice
            kind="empty"
            title={start === null && operator === '' ? 'No actions yet' : 'No actions found'}
          />
        )}
        <ListEnd
          {...{ ...ends, start }}
          isEmpty={actions.length === 0}
          urlOf={(from) => actionsUrl(operator, from)}
          first="Newest"
          searched={null}
        />
      </Page>,
    );
  });

  return app;
}

const actionsUrl = (operator: string, start: Readonly<Record<string, number>> = {}) =>
  urlWith('/actions', { operator, ...start });

function actionCells(recorded: RecordedAction) {
  const { actedAtMicroseconds, operator, how, action, isDone, note } = recorded;
  return [
    <Time ms={Math.floor(actedAtMicroseconds / 1_000)} format="age" />,
    <>
      <a href={actionsUrl(operator)}>
        <UntrustedText text={operator} maxLength={80} />
      </a>{' '}
      <span class="quiet">{how !== 'console' && how}</span>
    </>,
    action,
    <SubjectLink {...recorded} />,
    <>
      {!isDone && <StateBadge action={recorded} />}{' '}
      <UntrustedText text={recordedText(recorded)} maxLength={400} />
      <ReverseForms actions={[recorded]} />
    </>,
    <OptionalText text={note} maxLength={500} />,
  ];
}

/** The result has a code for programs and a sentence for people. */
const EXPORTED: Columns<RecordedAction> = {
  acted_at: ({ actedAtMicroseconds }) => exportedTime(Math.floor(actedAtMicroseconds / 1_000)),
  operator: ({ operator }) => operator,
  operator_how: ({ how }) => how,
  action: ({ action }) => action,
  subject: ({ subject }) => subject,
  is_done: ({ isDone }) => isDone,
  code: ({ result }) => result.code,
  result: recordedText,
  note: ({ note }) => note,
};
