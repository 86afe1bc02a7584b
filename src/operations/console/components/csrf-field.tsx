import { currentRequest } from '../request-context.ts';

/** The name of the field that proves that a form is one of ours. */
export const CSRF_FIELD = 'csrf';

/** Belongs in every form that changes something: what comes without it is refused. */
export function CsrfField() {
  return <input type="hidden" name={CSRF_FIELD} value={currentRequest().csrfToken} />;
}
