import type { Child } from 'hono/jsx';
import type { Progress } from '../../../maintenance/reconcile/progress.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorNotice } from '../components/error-notice.tsx';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { CountFacts } from './count-facts.tsx';
import { FindingTable } from './finding-table.tsx';
import type { Found, RunProgress, RunState } from './run.ts';
import { StartForm } from './start-form.tsx';

/** What is known of reconciliations that were not started here. */
export type Elsewhere = {
  readonly isUnderWay: boolean;
  /** How far the last one is or was; `null` when there was none. */
  readonly progress: Progress | null;
  readonly endedAtMs: number | null;
};

export type RunPartProps = { readonly state: RunState; readonly elsewhere: Elsewhere };

/** How it stands. While something goes on, this part of the page asks again every second. */
export function RunPart({ state, elsewhere }: RunPartProps) {
  const isLive = state.kind === 'running' || elsewhere.isUnderWay;
  const live = isLive
    ? { 'hx-get': '/reconcile/run', 'hx-trigger': 'every 1s', 'hx-swap': 'outerHTML' }
    : {};
  return (
    <div id="run" {...live}>
      <StartForm how="dry run" isDisabled={isLive} />
      {elsewhere.isUnderWay && <OtherRun progress={elsewhere.progress} />}
      {state.kind === 'none' ? (
        !elsewhere.isUnderWay && <LastRun {...elsewhere} />
      ) : (
        <OwnRun state={state} />
      )}
      {isLive && (
        <noscript>
          <p>
            <a href="/reconcile">Look again</a>
          </p>
        </noscript>
      )}
    </div>
  );
}

function OwnRun({ state }: { readonly state: Exclude<RunState, { kind: 'none' }> }) {
  const { isDryRun, beganAtMs, found } = state;
  return (
    <Panel title={isDryRun ? 'Dry run' : 'Mending'} id="own-run">
      <p role="status">
        Began <Moment at={new Date(beganAtMs)} />. <State state={state} />
      </p>
      {state.kind === 'running' && <ProgressPart progress={state.progress} />}
      {state.kind === 'failed' && (
        <ErrorNotice title="It did not come to its end">
          {sentence(state.reason)} What was found until then stands below.
        </ErrorNotice>
      )}
      {state.kind === 'done' && <CountFacts counts={state.counts} isDryRun={isDryRun} />}
      {state.kind === 'done' && isDryRun && state.counts.drifts > 0 && (
        <p>
          <a class="button danger" href="/reconcile/repair">
            Repair {state.counts.drifts.toLocaleString('en')}{' '}
            {state.counts.drifts === 1 ? 'team' : 'teams'}…
          </a>
        </p>
      )}
      <FoundPart found={found} isOver={state.kind !== 'running'} />
    </Panel>
  );
}

function State({ state }: { readonly state: Exclude<RunState, { kind: 'none' }> }) {
  if (state.kind === 'running') return <>It is under way.</>;
  return (
    <>
      {state.kind === 'done' ? 'Done' : 'Failed'} <Moment at={new Date(state.endedAtMs)} />.
    </>
  );
}

function ProgressPart({ progress }: { readonly progress: RunProgress | null }) {
  if (progress === null) return <p>It begins.</p>;
  const { of, done, total } = progress;
  const isMeasured = total !== null && total > 0 && done <= total;
  const count = done.toLocaleString('en');
  return (
    <p>
      {isMeasured && <progress max={total} value={done} aria-label={of} />}{' '}
      {isMeasured ? `${count} of about ${total.toLocaleString('en')} ${of}` : `${count} ${of}`}
    </p>
  );
}

function FoundPart({ found, isOver }: { readonly found: Found; readonly isOver: boolean }) {
  const { first, count } = found;
  if (count === 0) return isOver ? null : <p class="quiet">Nothing was found until now.</p>;
  return (
    <>
      <FindingTable findings={first} />
      {count > first.length && (
        <p>
          The first {first.length.toLocaleString('en')} of {count.toLocaleString('en')} are shown.
          All of them are told by: npx instep reconcile --dry-run --json
        </p>
      )}
      {isOver && (
        <p>
          <a href="/reconcile/findings" download>
            These as JSON lines
          </a>
        </p>
      )}
    </>
  );
}

function OtherRun({ progress }: Pick<Elsewhere, 'progress'>) {
  return (
    <Panel title="Another instance reconciles now" id="other-run">
      <p role="status">{progress === null ? 'It begins.' : howFar(progress)}</p>
    </Panel>
  );
}

function howFar({ phase, counts, isDryRun }: Progress): Child {
  const what = isDryRun ? 'A dry run' : 'One that repairs';
  const { subscriptions, teams, drifts } = counts;
  if (phase === 'listing')
    return `${what}: ${subscriptions.toLocaleString('en')} subscriptions read.`;
  return `${what}: ${teams.toLocaleString('en')} teams compared, ${drifts.toLocaleString('en')} drifted.`;
}

function LastRun({ progress, endedAtMs }: Elsewhere) {
  if (progress === null) {
    return (
      <EmptyState title="Nothing was compared yet">
        A dry run tells whether every team has what Stripe says, and changes nothing.
      </EmptyState>
    );
  }
  return (
    <Panel title="Last time" id="last-run">
      <p>
        {progress.isDryRun ? 'A dry run' : 'One that repaired'}, begun{' '}
        <Moment at={new Date(progress.beganAtMs)} />
        {progress.phase !== 'done' || endedAtMs === null ? (
          '. It did not come to its end.'
        ) : (
          <>
            , done <Moment at={new Date(endedAtMs)} />. What it found in each team is not kept.
          </>
        )}
      </p>
      <CountFacts counts={progress.counts} isDryRun={progress.isDryRun} />
    </Panel>
  );
}

/** A reason as a sentence of its own. */
function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}
