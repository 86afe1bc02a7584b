import { Hono } from 'hono';
import { findIssues, type OperateContext, readReconciliation } from 'instep/operate';
import { Page } from '../page.tsx';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import type { ReconcileRun } from './reconcile-run.ts';
import { RunStatus } from './run-status.tsx';

/** `/reconcile`: compares all teams with Stripe. What it finds needs attention, and is repaired there. */
export function reconcilePages(options: OperateContext, run: ReconcileRun): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async ({ render }) =>
    render(
      <Page title="Reconcile" area="Reconcile">
        <p>Compares every team with its subscriptions at Stripe, and changes nothing.</p>
        {await runStatus()}
      </Page>,
    ),
  );

  const runStatus = async () => (
    <RunStatus
      run={run}
      last={await readReconciliation(options)}
      counts={await findIssues(options).count()}
      nowMs={options.now()}
    />
  );

  app.get('/run', async ({ render }) => render(await runStatus()));

  app.post('/', (context) => {
    run.start(operatorOf(context.var));
    return context.redirect('/reconcile', 303);
  });

  return app;
}
