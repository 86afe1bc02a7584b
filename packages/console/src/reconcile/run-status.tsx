import {
  type Counts,
  countText,
  type Progress,
  type Reconciliation,
  type StepProgress,
} from 'instep/operate';
import { failureText } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { Live } from '../components/live.tsx';
import { Facts, Notice, Panel } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { issueCountText } from '../links/issue-links.tsx';
import { canAct } from '../request-context.ts';
import type { RunState } from './reconcile-run.ts';

type RunStatusProps = {
  /** The reconciliation that this process started. */
  readonly state: RunState;
  /** The last reconciliation, wherever it was started. */
  readonly last: Reconciliation;
  /** The teams that a repair would change now. */
  readonly open: { readonly count: number; readonly isMore: boolean };
  readonly nowMs: number;
};

/** The state of the reconciliation. It refreshes itself every second while one is running. */
export function RunStatus({ state, last, open, nowMs }: RunStatusProps) {
  const isOwn = state.kind === 'running';
  const isRunning = isOwn || last.isRunning;
  const isOpen = open.count > 0 && !isRunning && canAct();
  return (
    <Live id="run" url={isRunning ? '/reconcile/run' : null} intervalSeconds={1} atMs={nowMs}>
      <div class="row">
        {isOpen && (
          <a class="button main" href="/reconcile/repair">
            Repair {issueCountText(open)} {open.count === 1 ? 'team' : 'teams'}…
          </a>
        )}
        <PostForm action="/reconcile">
          <Button kind={isOpen ? 'quiet' : 'main'} name="mode" value="dry run" disabled={isRunning}>
            Start a dry run
          </Button>
        </PostForm>
      </div>
      {state.kind === 'failed' && (
        <Notice kind="error" title="Reconciliation failed">
          {state.error === null ? 'The server log has the reason.' : failureText(state.error)}
        </Notice>
      )}
      {isRunning ? (
        <Panel
          title={isOwn ? `${modeOf(state)} in progress` : 'Running on another instance'}
          id="run-progress"
        >
          <div role="status">
            <RunProgress step={isOwn ? state.progress : null} progress={last.progress} />
          </div>
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

type RunProgressProps = {
  /** Known to the process that runs it. */
  readonly step: StepProgress | null;
  /** Known to all. */
  readonly progress: Progress | null;
};

function RunProgress({ step, progress }: RunProgressProps) {
  if (step === null) return <p>{progress === null ? 'Starting…' : progressText(progress)}</p>;
  const { of, done, total } = step;
  if (total === null || total === 0 || done > total) return <p>{`${countText(done)} ${of}`}</p>;
  return (
    <p>
      <progress max={total} value={done} aria-label={of} />{' '}
      {`${countText(done)} of about ${countText(total)} ${of}`}
    </p>
  );
}

const modeOf = ({ isDryRun }: Pick<Progress, 'isDryRun'>) => (isDryRun ? 'Dry run' : 'Repair');

function progressText(progress: Progress): string {
  const { subscriptions, teams, drifts } = progress.counts;
  return progress.phase === 'listing'
    ? `${modeOf(progress)}: ${countText(subscriptions)} subscriptions listed.`
    : `${modeOf(progress)}: ${countText(teams)} teams compared, ${countText(drifts)} out of sync.`;
}

function LastRun({ progress, endedAtMs }: Reconciliation) {
  if (progress === null) {
    return (
      <Notice kind="empty" title="No reconciliation yet">
        A dry run shows whether every team has the plan that it has at Stripe. It changes nothing.
      </Notice>
    );
  }
  const { isDryRun, startedAtMs, counts, phase } = progress;
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
      <CountFacts {...{ counts, isDryRun }} />
      <p class="quiet">
        <code>npx instep reconcile --dry-run --json</code> lists every difference.
      </p>
    </Panel>
  );
}

type CountFactsProps = { readonly counts: Counts; readonly isDryRun: boolean };

/** The counts of a reconciliation. */
function CountFacts({ counts, isDryRun }: CountFactsProps) {
  const { drifts, repaired } = counts;
  return (
    <Facts
      facts={[
        [
          'Teams out of sync',
          drifts === 0 ? (
            <Badge tone="good">none</Badge>
          ) : (
            <>
              {countText(drifts)}{' '}
              <Badge tone={drifts === repaired ? 'good' : 'bad'}>
                {isDryRun ? 'not repaired' : `${countText(repaired)} repaired`}
              </Badge>
            </>
          ),
        ],
        ['Teams compared', countText(counts.teams)],
        ['Teams with the right plan but missing events', countText(counts.unrecorded)],
        ['Subscriptions listed', countText(counts.subscriptions)],
        ['Customers with a subscription but no team', countText(counts.customersWithoutTeam)],
        ['Teams with a customer unknown to Stripe', countText(counts.unknownCustomers)],
        ['Unreadable subscriptions', countText(counts.unreadable)],
      ]}
    />
  );
}
