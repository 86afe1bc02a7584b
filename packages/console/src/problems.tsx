import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { InstepError, type Logger } from 'instep-operate';
import { Notice } from './components/panels.tsx';
import { capitalized } from './components/text.tsx';
import { Page } from './page.tsx';

/** A response in place of the requested page. It shows the title and the message. */
class PageProblem extends InstepError {
  readonly code = 'PAGE_PROBLEM';
  readonly status: ContentfulStatusCode;
  readonly title: string;

  /** @param message the meaning and the remedy, in whole sentences */
  constructor(status: ContentfulStatusCode, title: string, message: string) {
    super(message);
    this.status = status;
    this.title = title;
  }
}

export const badRequest = (message: string) => new PageProblem(400, 'Invalid request', message);

export const loginNeeded = () =>
  new PageProblem(401, 'Login required', 'Send OPS_TOKEN as a bearer token, or log in at /login.');

export const fromOtherSite = () =>
  new PageProblem(
    403,
    'This form came from another site',
    'Nothing was changed. Use the form on this site.',
  );

export const operatorsOnly = () =>
  new PageProblem(
    403,
    'Only operators can do this',
    'Nothing was changed or sent. Ask someone with the role operator.',
  );

export const notFound = (message = 'There is no page at this address.') =>
  new PageProblem(404, 'Not found', message);

export const bodyTooLarge = (limitBytes: number) =>
  new PageProblem(413, 'Form too large', `A form has at most ${limitBytes} bytes.`);

export const notAForm = () =>
  new PageProblem(415, 'Not a form', 'Send application/x-www-form-urlencoded.');

export function tookTooLong(reason: string) {
  const advice = 'Reload the page. Events use connections of their own and are not affected.';
  return new PageProblem(503, 'The page took too long', `${reason}. ${advice}`);
}

/** A page that says what is wrong, or only the notice when htmx requested a part of a page. */
export function answerProblem(context: Context, { status, title, message }: PageProblem) {
  const isPart = context.req.header('HX-Request') === 'true';
  context.status(status);
  return context.render(
    isPart ? (
      <Notice kind="error" title={title}>
        {message}
      </Notice>
    ) : (
      <Page title={title} area={null}>
        <p>{message}</p>
      </Page>
    ),
  );
}

/** Responds to errors. An unexpected one is logged, and its details are not shown. */
export function createErrorHandler(logger: Logger) {
  return (error: Error, context: Context) => {
    const problem = problemOf(error);
    if (problem.status >= 500) {
      const { method, path } = context.req;
      logger.error({ err: error, method, path: path.slice(0, 200) }, 'operations request failed');
    }
    return answerProblem(context, problem);
  };
}

/** The stable code of an error; `null` for one that is not Instep's. */
function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

function problemOf(error: Error): PageProblem {
  if (error instanceof PageProblem) return error;
  const code = codeOf(error);
  // Only Instep's own errors are quoted: those of the app can have any message.
  const reason = code === null ? '' : capitalized(error.message);
  switch (code) {
    case 'DATABASE_UNAVAILABLE': {
      const meanwhile = 'Events get a 503 until it is back, and Stripe sends them again.';
      return new PageProblem(503, 'PostgreSQL does not answer', `${reason}. ${meanwhile}`);
    }
    case 'DATABASE_BUSY':
    case 'DEADLINE_EXCEEDED':
      return tookTooLong(reason);
    default:
      return new PageProblem(500, 'Internal error', 'The server log says what happened.');
  }
}
