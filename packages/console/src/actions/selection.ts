import {
  ACTIONS,
  type Action,
  type ActionRequest,
  parseSubject,
  type Subject,
} from 'instep-operate';
import { badRequest } from '../problems.tsx';
import { queryText } from '../query-parameters.ts';
import { ROW_FIELDS } from './action-form.tsx';

/** How many rows one form can choose: all are acted on before the page is answered. */
export const MAX_CHOSEN = 200;

/** Longer than any subject. */
const MAX_SUBJECT_LENGTH = 300;

/**
 * Reads a form: the button of one row, or a button for all selected rows. Nothing else of the form counts, such as a
 * field of a row that is not selected.
 *
 * @throws PageProblem without a row, or with too many
 */
export function readRequests(form: FormData): ActionRequest[] {
  const requests = [...requestsOf(form)];
  if (requests.length === 0) {
    throw badRequest('No row was selected. Go back, select rows, and choose what to do.');
  }
  if (requests.length > MAX_CHOSEN) {
    throw badRequest(`At most ${MAX_CHOSEN} rows can be chosen at once. Nothing was changed.`);
  }
  return requests;
}

function* requestsOf(form: FormData): Generator<ActionRequest> {
  for (const [name, value] of form) {
    const isChoice = name.startsWith(ROW_FIELDS.choose);
    const subject = isChoice ? parseSubject(name.slice(ROW_FIELDS.choose.length)) : null;
    if (subject === null) continue;
    return yield { action: 'link', subject, linkTo: queryText(value), expectedCustomerId: null };
  }
  const [ofRow = '', ...words] = queryText(form.get('one')).split(' ');
  const named = ofRow || form.get('action');
  const action = ACTIONS.find((one) => one === named);
  if (action === undefined) return;
  const rows = ofRow === '' ? form.getAll('row').map(queryText) : [words.join(' ')];
  for (const text of new Set(rows)) {
    const subject = text.length <= MAX_SUBJECT_LENGTH ? parseSubject(text) : null;
    if (subject !== null) yield requestOf(action, subject, (field) => form.get(field + text));
  }
}

/** @param field the value of a row's field: without one, the action expects that there was nothing */
function requestOf(
  action: Action,
  subject: Subject,
  field: (name: string) => unknown,
): ActionRequest {
  const expectedCustomerId = queryText(field(ROW_FIELDS.customer)) || null;
  switch (action) {
    case 'link':
      return { action, subject, linkTo: queryText(field(ROW_FIELDS.link)), expectedCustomerId };
    case 'unlink':
      return { action, subject, expectedCustomerId };
    case 'set-plan': {
      const planName = field(ROW_FIELDS.plan);
      const isNewName = field(ROW_FIELDS.isNewPlan) === 'yes';
      return {
        action,
        subject,
        planName: planName === null ? null : queryText(planName),
        isNewName,
      };
    }
    default:
      return { action, subject };
  }
}

/** The texts that were entered in the rows, by subject: in a form, or in the address of a page. */
export function readTexts(fields: FormData | URLSearchParams): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of fields) {
    const text = queryText(value);
    if (!name.startsWith(ROW_FIELDS.link) || text === '') continue;
    texts.set(name.slice(ROW_FIELDS.link.length), text);
  }
  return texts;
}

/** A longer address is possibly refused by a proxy. */
const MAX_TEXTS_LENGTH = 6_000;

/** The texts as parameters for the address of a page, as far as they fit in. */
export function textParameters(texts: ReadonlyMap<string, string>): Record<string, string> {
  const parameters: Record<string, string> = {};
  let length = 0;
  for (const [subject, text] of texts) {
    const name = ROW_FIELDS.link + subject;
    length += encodeURIComponent(`${name}=${text}&`).length;
    if (length > MAX_TEXTS_LENGTH) break;
    parameters[name] = text;
  }
  return parameters;
}
