import { countText, type IssueCounts, type Progress, type Reconciliation } from 'instep-operate';
import { failureText } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { Live } from '../components/live.tsx';
import { Facts, Notice, Panel } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { ISSUE_NAMES, issueCountText, issuesUrl } from '../links/issue-links.ts';
import type { ReconcileRun } from './reconcile-run.ts';

type RunStatusProps = {
  /** The reconciliation that this process started. */
  readonly run: ReconcileRun;
  /** The last reconciliation, wherever it was started. */
  readonly last: Reconciliation;
  /** What is open now. */
  readonly counts: IssueCounts;
  readonly nowMs: number;
};

/** What a comparison finds, and a repair resolves. */
const REPAIRED = ['out-of-sync', 'changed-by-hand', 'plan-refused'] as const;

/** The state of the reconciliation. It refreshes itself every second while one is running. */
export function RunStatus({ run, last, counts, nowMs }: RunStatusProps) {
  const isRunning = run.isRunning || last.isRunning;
  const open = REPAIRED.filter((code) => counts[code].count > 0);
  return (
    <Live id="run" url={isRunning ? '/reconcile' : null} intervalSeconds={1} atMs={nowMs}>
      <div class="row">
        {open.map((code) => (
          <a class="button main" href={issuesUrl(code)}>
            Repair {issueCountText(counts[code])} {ISSUE_NAMES[code]}…
          </a>
        ))}
        <PostForm action="/reconcile">
          <Button kind={open.length > 0 ? 'quiet' : 'main'} disabled={isRunning}>
            Start a dry run
          </Button>
        </PostForm>
      </div>
      {run.error !== null && (
        <Notice kind="error" title="Reconciliation failed">
          {failureText(run.error)}
        </Notice>
      )}
      {isRunning ? (
        <Panel title="Reconciliation in progress" id="run-progress">
          <p role="status">{progressText(last.progress)}</p>
          <noscript>
            <a href="/reconcile">Refresh</a>
          </noscript>
        </Panel>
      ) : (
        <LastRun {...last} />
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

function LastRun({ progress, endedAtMs }: Reconciliation) {
  if (progress === null) {
    return (
      <Notice kind="empty" title="No reconciliation yet">
        A dry run shows whether every team has the plan that it has at Stripe. It changes nothing.
      </Notice>
    );
  }
  const { startedAtMs, phase } = progress;
  return (
    <Panel title="Last reconciliation" id="last-run">
      <p role="status">
        {modeOf(progress)}, started <Time ms={startedAtMs} format="age" />
        {phase === 'done' && endedAtMs !== null ? (
          <>
            , finished <Time ms={endedAtMs} format="age" />. Its open issues are under{' '}
            <a href="/attention">Attention</a>.
          </>
        ) : (
          '. It did not finish.'
        )}
      </p>
      <CountFacts {...progress} />
      <p class="quiet">
        <code>npx instep reconcile --dry-run --json</code> lists every difference.
      </p>
    </Panel>
  );
}

/** The counts of a reconciliation. */
function CountFacts({ counts, isDryRun }: Progress) {
  const { teams, drifts, repaired, unknownCustomers } = counts;
  const isProven = teams > 0 && unknownCustomers === 0;
  const result = isDryRun ? 'not repaired' : `${countText(repaired)} repaired`;
  return (
    <Facts
      facts={[
        ['Teams compared', countText(teams)],
        [
          // Out of sync, changed by hand or with a refused plan.
          'Teams with a wrong plan',
          <Badge tone={drifts > repaired ? 'bad' : isProven ? 'good' : 'quiet'}>
            {teams === 0
              ? 'no team was compared'
              : drifts === 0
                ? 'none'
                : `${countText(drifts)}, ${result}`}
          </Badge>,
        ],
        ['Teams with the right plan but missing events', countText(counts.unrecorded)],
        ['Subscriptions listed', countText(counts.subscriptions)],
        ['Customers with a subscription but no team', countText(counts.customersWithoutTeam)],
        ['Teams without a plan whose customer pays', countText(counts.paidWithoutPlan)],
        [
          'Teams with a customer unknown to Stripe',
          <Badge tone={unknownCustomers > 0 ? 'warning' : 'quiet'}>
            {countText(unknownCustomers)}
          </Badge>,
        ],
        ['Unreadable subscriptions', countText(counts.unreadable)],
      ]}
    />
  );
}
