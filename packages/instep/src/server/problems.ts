import { InstepError } from '../runtime/errors.ts';
import { type HttpResponse, headersWith, jsonResponse } from './http-message.ts';

/** A refused request: `{"error": …}`, with a status that says why. */
export class Problem extends InstepError {
  readonly code = 'HTTP_PROBLEM';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.status = status;
    this.headers = headersWith(headers);
  }

  toResponse(): HttpResponse {
    return jsonResponse({ error: this.message }, this);
  }
}

export const targetInvalid = () => new Problem(400, 'The request target is not a valid path.');

export const hostInvalid = () =>
  new Problem(400, 'The Host header must contain exactly one valid host.');

/** The contract specifies this text (openapi.yaml). */
export const signatureProblem = (cause: Error) =>
  new Problem(400, 'Webhook signature verification failed.', {}, { cause });

export const notFound = () => new Problem(404, 'Not found.');

export const methodNotAllowed = (allow: string) =>
  new Problem(405, 'Method not allowed.', { Allow: allow });

export const bodyCutOff = () => new Problem(408, 'The body did not arrive completely in time.');

export const bodyTooLarge = (limitBytes: number) =>
  new Problem(413, `The body is larger than ${limitBytes} bytes.`);

export const internalProblem = () => new Problem(500, 'Internal error.');

/** Stripe sends the event again; browsers and load balancers wait as long as the header says. */
export const unavailable = () =>
  new Problem(503, 'Temporarily unavailable. Try again.', { 'Retry-After': '5' });
