import {
  ACTIONS,
  type Action,
  type ActionRequest,
  parseSubject,
  parseTimeSince,
  type Subject,
} from 'instep-operate';
import { CHOOSE_FIELD, EXPECTED_FIELDS, LINK_FIELD } from '../links/issue-links.tsx';
import { badRequest } from '../problems.tsx';
import { queryNumber, queryText } from '../query-parameters.ts';

/** The rows that a form of the list selects, and what to do about them. */
export type Selection = {
  readonly requests: readonly ActionRequest[];
  readonly note: string | null;
  /** When dismissals end; `null`: when the issue changes. */
  readonly until: Date | null;
};

/** How many rows one form can choose: all are acted on before the page is answered. */
export const MAX_CHOSEN = 200;

/** Longer than any subject. */
const MAX_SUBJECT_LENGTH = 300;

/** Reads a form of the list: the button of one row, or a button for all selected rows. `null` when nothing is selected. */
export function readSelection(form: FormData): Selection | null {
  const note = queryText(form.get('note')) || null;
  const until = readUntil(queryText(form.get('until')));
  for (const [name, value] of form) {
    const subject = name.startsWith(CHOOSE_FIELD) && parseSubject(name.slice(CHOOSE_FIELD.length));
    if (!subject) continue;
    return { requests: [requestOf('link', subject, { linkTo: value })], note, until };
  }
  const [ofRow = '', ...subject] = queryText(form.get('one')).split(' ');
  const named = ofRow || form.get('action');
  const action = ACTIONS.find((one) => one === named);
  if (action === undefined) return null;
  const texts = readTexts(form);
  const rows = ofRow === '' ? form.getAll('row').map(queryText) : [subject.join(' ')];
  const subjects = new Set(rows.filter(Boolean));
  const known = [...subjects].filter(({ length }) => length <= MAX_SUBJECT_LENGTH);
  if (known.length === 0) return null;
  const requests = known.flatMap((text) => {
    const subject = parseSubject(text);
    if (subject === null) return [];
    return requestOf(action, subject, {
      linkTo: texts.get(text),
      customer: form.get(EXPECTED_FIELDS.customer + text),
      dismissal: form.get(EXPECTED_FIELDS.dismissal + text),
    });
  });
  return { requests, note, until };
}

/** The fields of a form, with what its page has shown: without one, the action expects that there was nothing. */
type FormFields = Readonly<Partial<Record<'linkTo' | 'customer' | 'dismissal', unknown>>>;

/** The action that a form asks for. */
export function requestOf(
  action: Action,
  subject: Subject,
  { linkTo, customer, dismissal }: FormFields,
): ActionRequest {
  const expectedCustomerId = queryText(customer) || null;
  switch (action) {
    case 'link':
      return { action, subject, linkTo: queryText(linkTo), expectedCustomerId };
    case 'unlink':
      return { action, subject, expectedCustomerId };
    case 'dismiss':
    case 'restore':
      return { action, subject, expectedDismissalId: queryNumber(dismissal) };
    default:
      return { action, subject };
  }
}

/** The end of a day; `null` for an empty text. @throws PageProblem for anything else */
export function readUntil(text: string): Date | null {
  if (text === '') return null;
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? parseTimeSince(`${text}T23:59:59Z`, 0) : null;
  if (at === null) throw badRequest('The day was not understood. Nothing was changed.');
  return new Date(at);
}

/** The texts that were entered in the rows, by subject: in a form, or in the address of the list. */
export function readTexts(fields: FormData | URLSearchParams): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of fields) {
    const text = queryText(value);
    if (name.startsWith(LINK_FIELD) && text !== '') texts.set(name.slice(LINK_FIELD.length), text);
  }
  return texts;
}

/** A longer address is possibly refused by a proxy. */
const MAX_TEXTS_LENGTH = 6_000;

/** The texts as parameters for the address of the list, as far as they fit in. */
export function textParameters(texts: ReadonlyMap<string, string>): Record<string, string> {
  const parameters: Record<string, string> = {};
  let length = 0;
  for (const [subject, text] of texts) {
    length += encodeURIComponent(`${LINK_FIELD}${subject}=${text}&`).length;
    if (length > MAX_TEXTS_LENGTH) break;
    parameters[`${LINK_FIELD}${subject}`] = text;
  }
  return parameters;
}
