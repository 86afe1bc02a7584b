import { Hono } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import {
  checkHealth,
  countText,
  type HealthReport,
  type OperateContext,
  type Progress,
} from 'instep-operate';
import { failureText } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { Live } from '../components/live.tsx';
import { Facts, Notice, Panel } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { ISSUE_NAMES, issueCountText } from '../links.tsx';
import { Page } from '../page.tsx';
import { urlWith } from '../query-parameters.ts';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import type { ComparisonRun } from './comparison-run.ts';

/** `/compare`: compares all teams with Stripe. What it finds needs attention, and is repaired there. */
export function comparePage(options: OperateContext, run: ComparisonRun): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  app.get('/', async ({ render }) => {
    const health = await checkHealth(options);
    return render(
      <Page title="Compare" area="Compare">
        <p>Compares every team with its subscriptions at Stripe, and changes nothing.</p>
        <ComparisonStatus {...{ run, health }} nowMs={options.now()} />
      </Page>,
    );
  });

  app.post('/', (context) => {
    run.start(operatorOf(context.var));
    return context.redirect('/compare', 303);
  });

  return app;
}

type ComparisonStatusProps = {
  /** The comparison that this process started. */
  readonly run: ComparisonRun;
  /** It has the last comparison, wherever it was started, and what is open now. */
  readonly health: HealthReport;
  readonly nowMs: number;
};

/** What a comparison finds, and a repair resolves. */
const REPAIRED = ['out-of-sync', 'changed-by-hand', 'plan-refused'] as const;

/** It refreshes itself while a comparison is running. */
function ComparisonStatus({ run, health, nowMs }: ComparisonStatusProps) {
  const { reconciled, isReconciling, issues } = health;
  const isRunning = run.isRunning || isReconciling;
  const open = REPAIRED.flatMap((code) =>
    issues.filter((issue) => issue.code === code).map((issue) => ({ ...issue, code })),
  );
  return (
    <Live id="run" url={isRunning ? '/compare' : null} intervalSeconds={2} atMs={nowMs}>
      <div class="row">
        {open.map((issue) => (
          <a class="button main" href={urlWith('/attention', { issue: issue.code })}>
            Repair {issueCountText(issue)} {ISSUE_NAMES[issue.code]}…
          </a>
        ))}
        <PostForm action="/compare">
          <Button kind={open.length > 0 ? 'quiet' : 'main'} disabled={isRunning}>
            Compare all teams
          </Button>
        </PostForm>
      </div>
      {run.error !== null && (
        <Notice kind="error" title="The comparison failed">
          {failureText(run.error)}
        </Notice>
      )}
      {isRunning ? (
        <Panel title="Comparison in progress" id="run-progress">
          <p role="status">{progressText(reconciled)}</p>
          <noscript>
            <a href="/compare">Refresh</a>
          </noscript>
        </Panel>
      ) : (
        <LastComparison progress={reconciled} />
      )}
    </Live>
  );
}

const modeOf = ({ isDryRun }: Progress) => (isDryRun ? 'Dry run' : 'Repair');

function progressText(progress: Progress | null): string {
  if (progress === null || progress.phase === 'done') return 'Starting…';
  const { subscriptions, teams, drifts } = progress.counts;
  return progress.phase === 'listing'
    ? `${modeOf(progress)}: ${countText(subscriptions)} subscriptions listed.`
    : `${modeOf(progress)}: ${countText(teams)} teams compared, ${countText(drifts)} with a wrong plan.`;
}

function LastComparison({ progress }: { readonly progress: Progress | null }) {
  if (progress === null) {
    return (
      <Notice kind="empty" title="No comparison yet">
        It shows whether every team has the plan that it has at Stripe.
      </Notice>
    );
  }
  const { startedAtMs, phase, completed } = progress;
  return (
    <Panel title="Last comparison" id="last-run">
      <p role="status">
        {modeOf(progress)}, started <Time ms={startedAtMs} format="age" />
        {phase === 'done' && completed !== null
          ? html`, finished ${<Time ms={completed.endedAtMs} format="age" />}.`
          : '. It did not finish.'}
      </p>
      <Facts facts={countsOf(progress)} />
      <p class="quiet">
        <code>npx instep reconcile --dry-run --json</code> lists every difference.
      </p>
    </Panel>
  );
}

/** The counts of a comparison. It proves nothing if no team was compared, or if Stripe does not know a customer. */
function countsOf({ counts, isDryRun }: Progress): (readonly [string, Child])[] {
  const { teams, drifts, repaired, unknownCustomers: unknown } = counts;
  const result = isDryRun ? 'not repaired' : `${countText(repaired)} repaired`;
  const wrong = drifts === 0 ? 'none' : `${countText(drifts)}, ${result}`;
  const tone = drifts > repaired ? 'bad' : teams > 0 && unknown === 0 ? 'good' : 'quiet';
  return [
    ['Teams compared', countText(teams)],
    // Out of sync, changed by hand or with a refused plan.
    ['Teams with a wrong plan', <Badge tone={tone}>{teams > 0 ? wrong : 'none compared'}</Badge>],
    ['Subscriptions listed', countText(counts.subscriptions)],
    ['Customers with a subscription but no team', countText(counts.customersWithoutTeam)],
    [
      'Teams with a customer unknown to Stripe',
      <Badge tone={unknown > 0 ? 'warning' : 'quiet'}>{countText(unknown)}</Badge>,
    ],
    ['Unreadable subscriptions', countText(counts.unreadable)],
  ];
}
