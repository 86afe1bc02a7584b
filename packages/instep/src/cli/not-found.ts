import { InstepError } from '../runtime/errors.ts';

/** The user, team or event does not exist. */
export class NotFound extends InstepError {
  readonly code = 'NOT_FOUND';
}
