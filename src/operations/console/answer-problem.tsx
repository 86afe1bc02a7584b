import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { DatabaseBusy, DatabaseUnavailable } from '../../postgres/errors.ts';
import { DeadlineExceeded } from '../../runtime/deadline.ts';
import type { Logger } from '../../runtime/logging.ts';
import { ErrorNotice } from './components/error-notice.tsx';
import { Page } from './page.tsx';
import {
  databaseAway,
  fromElsewhere,
  internalProblem,
  PageProblem,
  tookTooLong,
} from './problems.ts';

/** A page that says what is wrong; for a part of a page that was asked for, only the notice. */
export function answerProblem(context: Context, problem: PageProblem) {
  const { status, title, message } = problem;
  const isPart = context.req.header('HX-Request') === 'true';
  return context.html(
    isPart ? (
      <ErrorNotice title={title}>{message}</ErrorNotice>
    ) : (
      <Page title={title} area={null}>
        <p>{message}</p>
      </Page>
    ),
    status,
  );
}

/** What of an error is for whoever reads the page. What nobody expects is logged, and not told. */
export function createErrorAnswers(logger: Logger) {
  return (error: Error, context: Context) => {
    const problem = problemOf(error);
    if (problem.status >= 500) {
      const { method, path } = context.req;
      logger.error({ err: error, method, path: path.slice(0, 200) }, 'operations request failed');
    }
    return answerProblem(context, problem);
  };
}

function problemOf(error: Error): PageProblem {
  if (error instanceof PageProblem) return error;
  if (error instanceof DatabaseUnavailable) return databaseAway(capitalized(error.message));
  if (error instanceof DatabaseBusy || error instanceof DeadlineExceeded) {
    return tookTooLong(capitalized(error.message));
  }
  // Of the packages that we use only the one that looks where forms are from throws it.
  if (error instanceof HTTPException) return fromElsewhere();
  return internalProblem();
}

/** An error's message as a sentence begins. */
function capitalized(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}
