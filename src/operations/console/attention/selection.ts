import { queryText } from '../query-parameters.ts';
import { ACTIONS, type Action, type ActionRequest } from './resolve.ts';

/** The rows that a form of the list selects, and what to do about them. */
export type Selection = {
  readonly requests: readonly ActionRequest[];
  readonly note: string | null;
};

/** More rows than a page of the list has. */
const MAX_ROWS = 200;

/** Longer than any subject. */
const MAX_SUBJECT_LENGTH = 300;

/**
 * Reads a form of the list: the button of one row, or a button for all selected rows. To link, a row
 * is also selected by its team. `null` when nothing is selected.
 */
export function readSelection(form: FormData): Selection | null {
  const [ofRow = '', ...subject] = queryText(form.get('one')).split(' ');
  const action = ACTIONS.find((one) => one === (ofRow || form.get('action')));
  if (action === undefined) return null;
  const subjects =
    ofRow === '' ? selectedRows(form, action) : new Set([subject.join(' ')].filter(Boolean));
  const known = [...subjects].filter(({ length }) => length <= MAX_SUBJECT_LENGTH);
  if (known.length === 0) return null;
  const requests = known.slice(0, MAX_ROWS).map((subject) => ({
    action,
    subject,
    team: queryText(form.get(`${TEAM_FIELD}${subject}`) ?? form.get('team')),
  }));
  return { requests, note: queryText(form.get('note')) || null };
}

/** The name of a row's field for its team begins like this. */
export const TEAM_FIELD = 'team ';

function selectedRows(form: FormData, action: Action): Set<string> {
  const selected = new Set(form.getAll('row').map(queryText).filter(Boolean));
  if (action !== 'link') return selected;
  for (const [name, value] of form) {
    if (name.startsWith(TEAM_FIELD) && queryText(value) !== '') {
      selected.add(name.slice(TEAM_FIELD.length));
    }
  }
  return selected;
}
