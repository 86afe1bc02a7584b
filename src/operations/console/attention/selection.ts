import { queryText } from '../query-parameters.ts';
import { ACTIONS, type Action, type ActionRequest } from './action.ts';

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
 * is also selected by the text in its field. `null` when nothing is selected.
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
    linkTo: queryText(form.get(`${LINK_FIELD}${subject}`) ?? form.get('link')),
  }));
  return { requests, note: queryText(form.get('note')) || null };
}

/** The name of a row's field for its team or its customer begins like this. */
export const LINK_FIELD = 'link ';

function selectedRows(form: FormData, action: Action): Set<string> {
  const selected = new Set(form.getAll('row').map(queryText).filter(Boolean));
  if (action !== 'link') return selected;
  for (const [name, value] of form) {
    if (name.startsWith(LINK_FIELD) && queryText(value) !== '') {
      selected.add(name.slice(LINK_FIELD.length));
    }
  }
  return selected;
}
