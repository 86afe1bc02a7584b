import {
  type Counts,
  counted,
  countText,
  type Found,
  isDryRunDone,
  type Progress,
  type Reconciliation,
  type RunState,
  type StepProgress,
} from 'instep/operate';
import { failureText } from '../actions/words.ts';
import { Badge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { Live } from '../components/live.tsx';
import { Facts, Notice, Panel } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { canAct } from '../request-context.ts';
import { IssueTable, isStillWrong, type TeamsById } from './issue-table.tsx';

const BUTTONS = { 'dry run': 'Start a dry run', repair: 'Compare and repair' } as const;

type StartFormProps = { readonly mode: keyof typeof BUTTONS; readonly isDisabled: boolean };

/** Starts a reconciliation. */
export function StartForm({ mode, isDisabled }: StartFormProps) {
  return (
    <PostForm action="/reconcile">
      <p>
        <Button kind="main" name="mode" value={mode} disabled={isDisabled}>
          {BUTTONS[mode]}
        </Button>
      </p>
    </PostForm>
  );
}

type RunStatusProps = {
  readonly state: RunState;
  /** The teams of the issues on the page. */
  readonly teams: TeamsById;
  /** The last reconciliation that this process did not start. */
  readonly others: Reconciliation;
  readonly nowMs: number;
};

/** The state of the reconciliation. It refreshes itself every second while one is running. */
export function RunStatus({ state, teams, others, nowMs }: RunStatusProps) {
  const isLive = state.kind === 'running' || others.isRunning;
  return (
    <Live id="run" url={isLive ? '/reconcile/run' : null} intervalSeconds={1} atMs={nowMs}>
      <StartForm mode="dry run" isDisabled={isLive} />
      {others.isRunning && (
        <Panel title="Running on another instance" id="other-run">
          <p role="status">{progressText(others.progress)}</p>
        </Panel>
      )}
      {state.kind !== 'none' && <OwnRun state={state} teams={teams} />}
      {state.kind === 'none' && !others.isRunning && <LastRun {...others} />}
      {isLive && (
        <noscript>
          <p>
            <a href="/reconcile">Refresh</a>
          </p>
        </noscript>
      )}
    </Live>
  );
}

const FAILED = 'The server log has the reason.';

type OwnRunProps = Pick<RunStatusProps, 'teams'> & {
  readonly state: Exclude<RunState, { kind: 'none' }>;
};

function OwnRun({ state, teams }: OwnRunProps) {
  const { isDryRun, startedAtMs, found } = state;
  const open = state.kind === 'done' ? openDrifts(state, teams).count : 0;
  return (
    <Panel title={isDryRun ? 'Dry run' : 'Repair'} id="own-run">
      <p role="status">
        Started <Time ms={startedAtMs} />.{' '}
        {state.kind === 'running' ? (
          'Running.'
        ) : (
          <>
            {state.kind === 'done' ? 'Finished' : 'Failed'} <Time ms={state.endedAtMs} />.
          </>
        )}
      </p>
      {state.kind === 'running' && <ProgressBar progress={state.progress} />}
      {state.kind === 'failed' && (
        <Notice kind="error" title="Reconciliation failed">
          {state.error === null ? FAILED : failureText(state.error)} The issues so far are below.
        </Notice>
      )}
      {state.kind === 'done' && (
        // A team that was repaired or dismissed elsewhere since is counted no more.
        <CountFacts
          counts={isDryRun ? { ...state.counts, drifts: open } : state.counts}
          isDryRun={isDryRun}
        />
      )}
      {isDryRunDone(state) && <RepairLink count={open} />}
      <Issues found={found} teams={teams} isOver={state.kind !== 'running'} />
    </Panel>
  );
}

function RepairLink({ count }: { readonly count: number }) {
  if (count === 0 || !canAct()) return null;
  return (
    <p>
      <a class="button main" href="/reconcile/repair">
        Repair {counted(count, 'team')}…
      </a>
    </p>
  );
}

type FinishedRun = Extract<RunState, { kind: 'done' }>;

/** The drifts of a dry run whose teams have not changed since, and how many there are with those not kept. */
export function openDrifts({ found, counts }: FinishedRun, teams: TeamsById) {
  const all = found.first.filter((issue) => issue.kind === 'drift');
  const drifts = all.filter(({ isDismissed }) => !isDismissed);
  const open = drifts.filter((drift) => isStillWrong(drift, teams));
  return { open, count: counts.drifts - (drifts.length - open.length) };
}

function ProgressBar({ progress }: { readonly progress: StepProgress | null }) {
  if (progress === null) return <p>Starting…</p>;
  const { of, done, total } = progress;
  if (total === null || total === 0 || done > total) return <p>{`${countText(done)} ${of}`}</p>;
  return (
    <p>
      <progress max={total} value={done} aria-label={of} />{' '}
      {`${countText(done)} of about ${countText(total)} ${of}`}
    </p>
  );
}

const MAX_SHOWN = 200;

/** The issues that the page shows. */
export const shownOf = ({ first }: Found) => first.slice(0, MAX_SHOWN);

type IssuesProps = Pick<RunStatusProps, 'teams'> & {
  readonly found: Found;
  readonly isOver: boolean;
};

function Issues({ found, teams, isOver }: IssuesProps) {
  const { count } = found;
  if (count === 0) return isOver ? null : <p class="quiet">No issues yet.</p>;
  return (
    <>
      <IssueTable issues={shownOf(found)} teams={teams} />
      {isOver && (
        <p>
          {count > MAX_SHOWN &&
            `Showing the first ${countText(MAX_SHOWN)} of ${countText(count)}. `}
          The open ones are also under <a href="/attention">Attention</a>, which exports them. To
          get all, run <code>npx instep reconcile --dry-run --json</code>.
        </p>
      )}
    </>
  );
}

function progressText(progress: Progress | null): string {
  if (progress === null) return 'Starting…';
  const { phase, isDryRun, counts } = progress;
  const { subscriptions, teams, drifts } = counts;
  const mode = isDryRun ? 'Dry run' : 'Repair';
  if (phase === 'listing') return `${mode}: ${counted(subscriptions, 'subscription')} listed.`;
  return `${mode}: ${counted(teams, 'team')} compared, ${countText(drifts)} out of sync.`;
}

function LastRun({ progress, endedAtMs }: Reconciliation) {
  if (progress === null) {
    return (
      <Notice kind="empty" title="No reconciliation yet">
        A dry run shows whether every team has the plan that it has at Stripe. It changes nothing.
      </Notice>
    );
  }
  const isFinished = progress.phase === 'done' && endedAtMs !== null;
  return (
    <Panel title="Last reconciliation" id="last-run">
      <p>
        {progress.isDryRun ? 'Dry run' : 'Repair'}, started <Time ms={progress.startedAtMs} />
        {isFinished ? (
          <>
            , finished <Time ms={endedAtMs} />. Its open issues are under{' '}
            <a href="/attention">Attention</a>.
          </>
        ) : (
          '. It did not finish.'
        )}
      </p>
      <CountFacts counts={progress.counts} isDryRun={progress.isDryRun} />
    </Panel>
  );
}

type CountFactsProps = { readonly counts: Counts; readonly isDryRun: boolean };

/** The counts of a reconciliation. */
function CountFacts({ counts, isDryRun }: CountFactsProps) {
  const { drifts, repaired } = counts;
  const isRepaired = drifts === repaired;
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
              <Badge tone={isRepaired ? 'good' : 'bad'}>
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
