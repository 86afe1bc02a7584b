import { Hono } from 'hono';
import { findIssues, type OperateContext, readReconciliation } from 'instep-operate';
import { Page } from '../page.tsx';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import type { ReconcileRun } from './reconcile-run.ts';
import { RunStatus } from './run-status.tsx';

/** `/reconcile`: compares all teams with Stripe. What it finds needs attention, and is repaired there. */
export function reconcilePages(options: OperateContext, run: ReconcileRun): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async ({ render }) => {
    const [last, counts] = await Promise.all([
      readReconciliation(options),
      findIssues(options).count(),
    ]);
    return render(
      <Page title="Reconcile" area="Reconcile">
        <p>Compares every team with its subscriptions at Stripe, and changes nothing.</p>
        <RunStatus {...{ run, last, counts }} nowMs={options.now()} />
      </Page>,
    );
  });

  app.post('/', (context) => {
    run.start(operatorOf(context.var));
    return context.redirect('/reconcile', 303);
  });

  return app;
}
