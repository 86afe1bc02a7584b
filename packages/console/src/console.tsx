import { Hono } from 'hono';
import { jsxRenderer } from 'hono/jsx-renderer';
import { type ConsoleOptions, limitRate } from 'instep/operate/inside';
import { access } from './access/access.tsx';
import { assetPages } from './assets.ts';
import { actionsPage } from './attention/actions-page.tsx';
import { attentionPages } from './attention/attention-pages.tsx';
import { eventPages } from './events/event-pages.tsx';
import { logActions, safeHeaders, smallBody, withinDeadline } from './middleware.ts';
import { overviewPage } from './overview/overview-page.tsx';
import { answerProblem, createErrorHandler, notFound } from './problems.tsx';
import { reconcilePages } from './reconcile/reconcile-pages.tsx';
import { renderWithoutAsyncStorage } from './render-without-async-storage.ts';
import { asVisitor, type ConsoleEnv } from './request-context.ts';
import { searchPage } from './search/search-page.tsx';
import { teamPages } from './teams/team-pages.tsx';

/** The operators' pages. */
export function createPages(options: ConsoleOptions): Hono<ConsoleEnv> {
  renderWithoutAsyncStorage();
  const { database, ingest, nameOf, planSelection, logger, now, clockMs, nonce } = options;
  const app = new Hono<ConsoleEnv>();
  // Shares its limit with maintenance.
  const api = limitRate(options.api, database.query);
  const services = { database, ingest, api, nameOf, planSelection, logger, now, clockMs, nonce };
  app.use(jsxRenderer(undefined, { docType: false }), asVisitor(options.keyMode));
  app.use(safeHeaders, withinDeadline, smallBody);
  app.route('/assets', assetPages());
  app.route('/', access(options));
  app.use(logActions(logger));
  app.route('/', overviewPage(options));
  app.route('/attention', attentionPages(services));
  app.route('/actions', actionsPage(options));
  app.route('/teams', teamPages(options, services));
  app.route('/events', eventPages(options));
  app.route('/search', searchPage(options));
  app.route('/reconcile', reconcilePages(options, services));
  app.notFound((context) => answerProblem(context, notFound()));
  app.onError(createErrorHandler(logger));
  return app;
}
