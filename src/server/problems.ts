import { InstepError } from '../runtime/errors.ts';
import { type Answer, headersWith, jsonAnswer } from './answer.ts';

/** An answer other than the one that was asked for, as JSON: `{"error": …}`. */
export class Problem extends InstepError {
  readonly code = 'HTTP_PROBLEM';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headersWith(headers);
  }

  toAnswer(): Answer {
    return jsonAnswer({ error: this.message }, this);
  }
}

/** The contract's words (section 4). */
export const signatureProblem = () => new Problem(400, 'Webhook signature verification failed.');

export const hostAmbiguous = () => new Problem(400, 'More than one Host was named.');

export const notFound = () => new Problem(404, 'Not found.');

export const methodNotAllowed = (allow: string) =>
  new Problem(405, 'Method not allowed.', { Allow: allow });

export const bodyCutOff = () => new Problem(408, 'The body did not arrive in time.');

export const bodyTooLarge = (limitBytes: number) =>
  new Problem(413, `The body is larger than ${limitBytes} bytes.`);

export const internalProblem = () => new Problem(500, 'Internal error.');

/** Stripe sends an event again that was answered so; browsers and balancers wait as told. */
export const unavailable = () =>
  new Problem(503, 'Temporarily unavailable. Try again.', { 'Retry-After': '5' });
