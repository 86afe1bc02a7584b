import { InstepError } from '../runtime/errors.ts';

/** What a command was asked for does not exist. */
export class NotFound extends InstepError {
  readonly code = 'NOT_FOUND';
}
