import { Hono } from 'hono';
import {
  countIssues,
  findIssues,
  ISSUES,
  type OperateContext,
  readReconciliation,
  SUBJECT_ISSUES,
} from 'instep/operate';
import { TeamsToRepair } from '../attention/repair-question.tsx';
import { Confirm } from '../components/form.tsx';
import { Notice } from '../components/panels.tsx';
import { Page } from '../page.tsx';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import type { ReconcileRun } from './reconcile-run.ts';
import { RunStatus } from './run-status.tsx';

/** What a reconciliation that repairs can resolve. */
const REPAIRABLE = SUBJECT_ISSUES.filter((code) =>
  ISSUES[code].remedies.some((remedy) => remedy === 'repair'),
);

const MAX_LISTED = 50;

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

  const runStatus = async () => (
    <RunStatus
      state={run.state}
      last={await readReconciliation(options)}
      open={await readOpen()}
      nowMs={options.now()}
    />
  );

  /** The number of teams that a repair would change, as far as they were counted. */
  async function readOpen() {
    const counts = await countIssues(options);
    const open = REPAIRABLE.map((code) => counts[code]);
    return {
      count: open.reduce((sum, { count }) => sum + count, 0),
      isMore: open.some(({ isMore }) => isMore),
    };
  }

  app.get('/run', async ({ render }) => render(await runStatus()));

  app.get('/repair', async ({ render }) => {
    const pages = REPAIRABLE.map((code) => findIssues(options, { code, limit: MAX_LISTED }));
    const issues = (await Promise.all(pages)).flatMap((page) => page.issues);
    return render(
      <Page title="Repair all teams that are out of sync?" area="Reconcile">
        {issues.length === 0 ? (
          <Notice kind="empty" title="No team is known to be out of sync">
            <a href="/reconcile">Start a dry run</a> to see which teams would change.
          </Notice>
        ) : (
          <TeamsToRepair issues={issues.slice(0, MAX_LISTED)} {...(await readOpen())} />
        )}
        <p>
          Compares all teams with Stripe again and repairs differences. Newer events win over
          Stripe's list. A team that was changed by hand gets the plan from its events.
        </p>
        <Confirm action="/reconcile" back="/reconcile" button="Compare and repair">
          <input type="hidden" name="mode" value="repair" />
        </Confirm>
      </Page>,
    );
  });

  app.post('/', async (context) => {
    const { mode } = await context.req.parseBody();
    run.start(operatorOf(context.var), mode !== 'repair');
    return context.redirect('/reconcile', 303);
  });

  return app;
}
