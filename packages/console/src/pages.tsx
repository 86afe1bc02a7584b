import { Hono } from 'hono';
import { jsx } from 'hono/jsx';
import { jsxRenderer } from 'hono/jsx-renderer';
import type { OperateContext } from 'instep-operate';
import { type Access, access } from './access/access.ts';
import { actionsPage } from './actions/actions-page.tsx';
import { assetPages } from './assets.ts';
import { attentionPage } from './attention/attention-page.tsx';
import { addBasePath, pathBelow } from './base-path.ts';
import { comparePage } from './compare/compare-page.tsx';
import { ComparisonRun } from './compare/comparison-run.ts';
import { eventPage } from './events/event-page.tsx';
import { eventsPage } from './events/events-page.tsx';
import { logActions, safeHeaders, smallBody, withinDeadline } from './middleware.ts';
import { checksPage } from './overview/checks-page.tsx';
import { overviewPage } from './overview/overview-page.tsx';
import { answerProblem, createErrorHandler, notFound } from './problems.tsx';
import { queryText } from './query-parameters.ts';
import { asVisitor, type ConsoleEnv } from './request-context.ts';
import { urlFound } from './teams/search.ts';
import { teamPage } from './teams/team-page.tsx';
import { teamsPage } from './teams/teams-page.tsx';

export type PagesOptions = OperateContext & {
  readonly access: Access;
  /** Empty at the root. */
  readonly basePath: string;
};

/** The operators' pages. */
export type Pages = Hono<ConsoleEnv> & { close(): Promise<void> };

export function createPages(options: PagesOptions): Pages {
  renderWithoutAsyncStorage();
  const { logger, basePath } = options;
  const app = new Hono<ConsoleEnv>({
    getPath: (request) => pathBelow(basePath, request.url) ?? '',
  });
  const run = new ComparisonRun(options);
  if (basePath !== '') app.use(addBasePath(basePath));
  app.use(jsxRenderer(undefined, { docType: false }), asVisitor(options));
  app.use(safeHeaders, withinDeadline, smallBody);
  app.route('/assets', assetPages());
  app.route('/', access(options));
  app.use(logActions(logger));
  app.route('/', overviewPage(options));
  app.route('/checks', checksPage(options));
  app.route('/attention', attentionPage(options));
  app.route('/actions', actionsPage(options));
  app.route('/teams', teamsPage(options)).route('/teams', teamPage(options));
  app.route('/events', eventsPage(options)).route('/events', eventPage(options));
  app.get('/search', async ({ req, redirect }) =>
    redirect(await urlFound(options, queryText(req.query('q'))), 303),
  );
  app.route('/compare', comparePage(options, run));
  app.notFound((context) => answerProblem(context, notFound()));
  app.onError(createErrorHandler(logger));
  return Object.assign(app, {
    async close() {
      await run.stop();
      await options.close();
    },
  });
}

/**
 * Makes Hono's JSX render without an `AsyncLocalStorage`, which only asynchronous components need. In Node 20
 * and 22, the first use of one makes every promise of the process slower, for as long as the process runs.
 * Hono looks for `AsyncLocalStorage` only when it renders for the first time.
 */
function renderWithoutAsyncStorage(): void {
  const { getBuiltinModule } = process;
  Reflect.set(process, 'getBuiltinModule', undefined);
  try {
    jsx('br', {}).toString();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
}
