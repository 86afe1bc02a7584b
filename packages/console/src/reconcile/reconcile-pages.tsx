import { Hono } from 'hono';
import {
  isDryRunDone,
  type OperateContext,
  type ReconcileRun,
  readReconciliation,
} from 'instep/operate';
import { Page } from '../page.tsx';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import { readTeamsOfIssues } from './issue-table.tsx';
import { RepairQuestion, readToRepair } from './repair-question.tsx';
import { RunStatus, shownOf } from './run-status.tsx';

/** `/reconcile`: compares all teams with Stripe, and repairs those that are out of sync. */
export function reconcilePages(options: OperateContext, run: ReconcileRun): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async ({ render }) =>
    render(
      <Page title="Reconcile" area="Reconcile">
        <p>Compares every team with its subscriptions at Stripe. A dry run changes nothing.</p>
        {await runStatus()}
      </Page>,
    ),
  );

  /** The reconciliation of another instance, or one before the last restart. */
  async function readOthers() {
    const { isRunning, ...last } = await readReconciliation(options);
    return { isRunning: isRunning && run.state.kind !== 'running', ...last };
  }

  async function runStatus() {
    const { state } = run;
    const teams = await readTeamsOfIssues(
      options,
      state.kind === 'none' ? [] : isDryRunDone(state) ? state.found.first : shownOf(state.found),
    );
    return <RunStatus {...{ state, teams }} others={await readOthers()} nowMs={options.now()} />;
  }

  app.get('/run', async ({ render }) => render(await runStatus()));

  app.get('/repair', async ({ render }) =>
    render(<RepairQuestion toRepair={await readToRepair(options, run.state)} />),
  );

  app.post('/', async (context) => {
    const { mode } = await context.req.parseBody();
    run.start(operatorOf(context.var), mode !== 'repair');
    return context.redirect('/reconcile', 303);
  });

  return app;
}
