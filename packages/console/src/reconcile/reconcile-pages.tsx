import { Hono } from 'hono';
import type { OperateContext } from 'instep/operate';
import {
  type Background,
  type ReconcileServices,
  readLeasedJob,
  readProgress,
} from 'instep/operate/inside';
import { exportFormatOf, exportList } from '../export.ts';
import { Page } from '../page.tsx';
import { exportedFindings } from './export-findings.ts';
import { RepairQuestion, readToRepair } from './repair-question.tsx';
import { isDryRunDone, ReconcileRun } from './run.ts';
import { type OtherRuns, RunStatus, shownOf } from './run-status.tsx';
import { readTeamsOfFindings } from './teams-of-findings.ts';

/** `/reconcile`: compares all teams with Stripe, and repairs those that are out of sync. */
export function reconcilePages(
  options: OperateContext,
  services: ReconcileServices,
  background: Background,
): Hono {
  const { database, now } = options;
  const { query } = database;
  const run = new ReconcileRun(services, background);
  const app = new Hono();

  /** The runs of other instances and those before the last restart. */
  async function readOtherRuns(): Promise<OtherRuns> {
    const job = await readLeasedJob(query, 'reconcile');
    return {
      isRunning: job?.isHeld === true && run.state.kind !== 'running',
      progress: readProgress(job?.progress),
      endedAtMs: job?.endedAtMs ?? null,
    };
  }

  app.get('/', async ({ render }) =>
    render(
      <Page title="Reconcile" area="Reconcile">
        <p>Compares every team with its subscriptions at Stripe. A dry run changes nothing.</p>
        {await runStatus()}
      </Page>,
    ),
  );

  async function runStatus() {
    const { state } = run;
    const teams = await readTeamsOfFindings(
      query,
      state.kind === 'none' ? [] : isDryRunDone(state) ? state.found.first : shownOf(state.found),
    );
    return <RunStatus {...{ state, teams }} others={await readOtherRuns()} nowMs={now()} />;
  }

  app.get('/run', async ({ render }) => render(await runStatus()));

  app.get('/repair', async ({ render }) =>
    render(<RepairQuestion toRepair={await readToRepair(query, run.state)} />),
  );

  app.post('/', async ({ req, redirect }) => {
    const { mode } = await req.parseBody();
    run.start(mode !== 'repair');
    return redirect('/reconcile', 303);
  });

  app.get('/findings', (context) => {
    const findings = run.state.kind === 'none' ? [] : run.state.found.first;
    const format = exportFormatOf(context) ?? 'json';
    return exportList(context, format, () => exportedFindings(findings), options);
  });

  return app;
}
