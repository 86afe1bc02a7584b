import { Hono } from 'hono';
import { readProgress } from '../../../maintenance/reconcile/progress.ts';
import { readLeasedJob } from '../../../queries/leased-jobs.ts';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import type { MakeReconcileOptions } from './create-options.ts';
import { ReconcileRun } from './run.ts';
import { type Elsewhere, RunPart } from './run-part.tsx';
import { StartForm } from './start-form.tsx';

/** `/reconcile`: compares all teams with what Stripe lists, and repairs what has drifted. */
export function reconcilePages(options: ConsoleOptions, makeOptions: MakeReconcileOptions): Hono {
  const { query } = options.database;
  const run = new ReconcileRun(options, makeOptions);
  const app = new Hono();

  /** What `instep.leased_jobs` tells: of other instances, and of the time before this one. */
  async function readElsewhere(): Promise<Elsewhere> {
    const walk = await readLeasedJob(query, 'reconcile');
    return {
      isUnderWay: walk?.isHeld === true && run.state.kind !== 'running',
      progress: readProgress(walk?.progress),
      endedAtMs: walk?.endedAtMs ?? null,
    };
  }

  app.get('/', async ({ html }) =>
    html(
      <Page title="Reconcile" area="Reconcile">
        <p>
          Compares all teams with what Stripe lists: all subscriptions and, where that is needed,
          all customers. A dry run changes nothing.
        </p>
        <RunPart state={run.state} elsewhere={await readElsewhere()} />
      </Page>,
    ),
  );

  app.get('/run', async ({ html }) =>
    html(<RunPart state={run.state} elsewhere={await readElsewhere()} />),
  );

  app.get('/repair', ({ html }) =>
    html(
      <Page title="Repair what has drifted?" area="Reconcile">
        <p>
          All teams are compared with Stripe once more, and what differs is repaired: what Stripe
          shows goes through the one door like an event, so that anything newer wins. Teams that
          were changed by hand become what their events say.
        </p>
        <StartForm how="repair" isDisabled={false} />
        <p>
          <a href="/reconcile">No, leave all as it is</a>
        </p>
      </Page>,
    ),
  );

  app.post('/', async ({ req, redirect }) => {
    const { how } = await req.parseBody();
    run.start(how !== 'repair');
    return redirect('/reconcile', 303);
  });

  app.get('/findings', ({ body }) => {
    const findings = run.state.kind === 'none' ? [] : run.state.found.first;
    return body(findings.map((finding) => `${JSON.stringify(finding)}\n`).join(''), 200, {
      'Content-Type': 'application/x-ndjson',
      'Content-Disposition': 'attachment; filename="findings.jsonl"',
    });
  });

  return app;
}
