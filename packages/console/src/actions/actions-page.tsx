import { Hono } from 'hono';
import {
  findActions,
  type OperateContext,
  perform,
  type RecordedAction,
  SUBJECT_ISSUES,
} from 'instep-operate';
import { Field } from '../components/form.tsx';
import { FilterForm, isFiltered, List, readStart } from '../components/list.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { SubjectLink } from '../links.tsx';
import { Page } from '../page.tsx';
import { ownPath, queryNumber, queryText, readFields, urlWith } from '../query-parameters.ts';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import { ReverseForms, recordedText, StateBadge } from './action-summary.tsx';
import { QuestionPage, readQuestion } from './question.tsx';
import { readRequests, readTexts, textParameters } from './selection.ts';

const LIMIT = 50;

const COLUMNS = [
  'When',
  'Who',
  'Action',
  'Subject',
  { name: 'Result', class: 'wide' },
  'Note',
] as const;

/** `/actions`: what operators did, newest first. All forms that act are sent here. */
export function actionsPage(services: OperateContext): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async (context) => {
    const { req, render } = context;
    const fields = readFields({ operator: '' }, req.query());
    const { operator } = fields;
    const found = findActions(services, { operator: operator || undefined });
    const list = { name: 'actions', columns: EXPORTED, rows: found.all() };
    const file = exportList(context, services.logger, list);
    if (file !== null) return file;
    const start = readStart((name) => queryNumber(req.query(name)));
    const page = await found.page({ start, limit: LIMIT });
    const isAll = start === null && !isFiltered(fields);
    return render(
      <Page title="What operators did" area="Attention">
        <p>The actions of the last year, in this console, in your app and with commands.</p>
        <FilterForm label="Actions" path="/actions" fields={fields}>
          <Field label="Operator" name="operator" type="search" value={operator} />
        </FilterForm>
        <List
          {...{ ...page, start, fields }}
          path="/actions"
          isEmpty={page.rows.length === 0}
          first="Newest"
          empty={<Notice kind="empty" title={isAll ? 'No actions yet' : 'No actions found'} />}
        >
          <Table label="Actions" columns={COLUMNS} rows={page.rows.map(actionCells)} />
        </List>
      </Page>,
    );
  });

  app.post('/', async (context) => {
    const form = await context.req.formData();
    const requests = readRequests(form);
    const back = ownPath(form.get('back'));
    if (form.get('confirmed') === null) {
      const code = SUBJECT_ISSUES.find((one) => one === form.get('issue'));
      const question = await readQuestion(services, requests, code);
      if (question !== null) return context.render(<QuestionPage {...{ form, question, back }} />);
    }
    const operator = { ...operatorOf(context.var), reason: queryText(form.get('note')) };
    const { callId, results } = await perform(services, operator, requests);
    const texts = readTexts(form);
    for (const { subject, isDone } of results) {
      if (isDone) texts.delete(subject);
    }
    const shown = new URLSearchParams({ done: callId, ...textParameters(texts) });
    return context.redirect(`${back}${back.includes('?') ? '&' : '?'}${shown}`, 303);
  });

  return app;
}

function actionCells(recorded: RecordedAction) {
  const { actedAtMs, operator, how, action, isDone, note } = recorded;
  return [
    <Time ms={actedAtMs} format="age" />,
    <>
      <a href={urlWith('/actions', { operator })}>
        <UntrustedText text={operator} maxLength={80} />
      </a>{' '}
      <span class="quiet">{how !== 'console' && how}</span>
    </>,
    action,
    <SubjectLink {...recorded} />,
    <>
      {!isDone && <StateBadge action={recorded} />}{' '}
      <UntrustedText text={recordedText(recorded)} maxLength={400} />
      <ReverseForms actions={[recorded]} back="/actions" />
    </>,
    <OptionalText text={note} maxLength={500} />,
  ];
}

/** The result has a code for programs and a sentence for people. */
const EXPORTED: Columns<RecordedAction> = {
  acted_at: ({ actedAtMs }) => exportedTime(actedAtMs),
  operator: ({ operator }) => operator,
  operator_how: ({ how }) => how,
  action: ({ action }) => action,
  subject: ({ subject }) => subject,
  is_done: ({ isDone }) => isDone,
  code: ({ result }) => result.code,
  result: recordedText,
  note: ({ note }) => note,
};
