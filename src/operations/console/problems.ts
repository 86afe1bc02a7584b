import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { InstepError } from '../../runtime/errors.ts';

/** An answer other than the page that was asked for. All of it is shown. */
export class PageProblem extends InstepError {
  readonly code = 'PAGE_PROBLEM';
  readonly status: ContentfulStatusCode;
  readonly title: string;

  /** @param message what to do, in whole sentences */
  constructor(
    status: ContentfulStatusCode,
    title: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.status = status;
    this.title = title;
  }
}

/** What the address or the form says makes no sense. */
export const badRequest = (message: string, options?: ErrorOptions) =>
  new PageProblem(400, 'That cannot be read', message, options);

export const loginNeeded = () =>
  new PageProblem(401, 'Log in first', 'Send OPS_TOKEN as a bearer token, or log in at /login.');

export const formTooOld = () =>
  new PageProblem(403, 'The form is too old', 'Load the page again, and send it once more.');

export const fromElsewhere = () =>
  new PageProblem(403, 'That came from another site', 'Nothing was done. Use the form here.');

export const hostUnknown = () =>
  new PageProblem(
    403,
    'That host is not this machine',
    'Without OPS_TOKEN the pages are for localhost only: open them there, or set OPS_TOKEN.',
  );

/** There is nothing at this address. @param message what might be instead */
export const notFound = (message = 'There is nothing at this address.') =>
  new PageProblem(404, 'Not found', message);

export const bodyTooLarge = (limitBytes: number) =>
  new PageProblem(413, 'That is too much', `A form has ${limitBytes} bytes at most.`);

export const notAForm = () =>
  new PageProblem(415, 'That is not a form', 'Send application/x-www-form-urlencoded.');

export const tooManyAttempts = () =>
  new PageProblem(429, 'Too many attempts', 'Wait a minute, and try again.');

export const internalProblem = () =>
  new PageProblem(500, 'Something went wrong here', "The server's log has the error.");

/** @param reason what PostgreSQL or the way there says */
export const databaseAway = (reason: string) =>
  new PageProblem(
    503,
    'PostgreSQL does not answer',
    `${reason}. While it is away events are answered 503, and Stripe sends them again.`,
  );

/** @param reason what gave up, and after how long */
export const tookTooLong = (reason: string) =>
  new PageProblem(
    503,
    'That took too long',
    `${reason}. Load the page again. Events have connections of their own, and go on.`,
  );
