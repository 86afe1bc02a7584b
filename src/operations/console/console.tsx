import { Hono } from 'hono';
import { contextStorage } from 'hono/context-storage';
import { access } from './access/access.ts';
import { answerProblem, createErrorAnswers } from './answer-problem.tsx';
import { assetPages } from './assets.ts';
import { eventPages } from './events/event-pages.tsx';
import { safeHeaders } from './headers.ts';
import { smallBody, withinDeadline } from './limits.ts';
import { logActions } from './log-actions.ts';
import { metricsPages } from './metrics.ts';
import type { ConsoleOptions } from './options.ts';
import { overviewPages } from './overview/overview.tsx';
import { notFound } from './problems.ts';
import { reconcileOptionsOf } from './reconcile/create-options.ts';
import { reconcilePages } from './reconcile/reconcile-pages.tsx';
import { asVisitor, type ConsoleEnv } from './request-context.ts';
import { teamPages } from './teams/team-pages.tsx';

/** The operators' pages. Each area is a folder that brings its own routes. */
export function createConsole(options: ConsoleOptions): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();
  const makeReconcileOptions = reconcileOptionsOf(options);
  app.use(contextStorage(), asVisitor, safeHeaders, withinDeadline, smallBody);
  app.route('/assets', assetPages());
  app.route('/', access(options));
  app.use(logActions(options.logger));
  app.route('/metrics', metricsPages(options));
  app.route('/', overviewPages(options));
  app.route('/teams', teamPages(options, makeReconcileOptions));
  app.route('/events', eventPages(options));
  app.route('/reconcile', reconcilePages(options, makeReconcileOptions));
  app.notFound((context) => answerProblem(context, notFound()));
  app.onError(createErrorAnswers(options.logger));
  return app;
}
