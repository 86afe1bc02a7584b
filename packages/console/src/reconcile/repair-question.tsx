import type { Child } from 'hono/jsx';
import {
  counted,
  type DriftIssue,
  isDryRunDone,
  type OperateContext,
  type RunState,
} from 'instep/operate';
import { Table } from '../components/table.tsx';
import { CustomerLink } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { CauseText, Changes, readTeamsOfIssues, type TeamsById } from './issue-table.tsx';
import { openDrifts, StartForm } from './run-status.tsx';

/** The teams that a repair would change, according to the last dry run. */
type ToRepair = {
  /** The first ones. */
  readonly first: readonly DriftIssue[];
  readonly teams: TeamsById;
  readonly count: number;
};

const MAX_LISTED = 50;

/** Reads what a repair would change; `null` unless this process has finished a dry run. */
export async function readToRepair(
  context: OperateContext,
  state: RunState,
): Promise<ToRepair | null> {
  if (!isDryRunDone(state)) return null;
  const teams = await readTeamsOfIssues(context, state.found.first);
  const { open, count } = openDrifts(state, teams);
  return { first: open.slice(0, MAX_LISTED), teams, count };
}

/** Asks before all teams are repaired, and shows what will change. */
export function RepairQuestion({ toRepair }: { readonly toRepair: ToRepair | null }) {
  return (
    <Page title="Repair all teams that are out of sync?" area="Reconcile">
      {toRepair === null ? (
        <p>
          To see which teams would change, <a href="/reconcile">start a dry run</a> first.
        </p>
      ) : (
        <TeamsToRepair {...toRepair} />
      )}
      <p>
        Compares all teams with Stripe again and repairs differences. Newer events win over Stripe's
        list. A team that was changed by hand gets the plan from its events.
      </p>
      <div class="toolbar">
        <StartForm mode="repair" isDisabled={false} />
        <a href="/reconcile">Cancel</a>
      </div>
    </Page>
  );
}

function TeamsToRepair({ first, teams, count }: ToRepair) {
  if (first.length === 0) return <p>The last dry run found no team to repair.</p>;
  return (
    <>
      <Table
        label="Teams to repair"
        columns={[
          'Team',
          'Customer',
          { name: 'Change', class: 'wide' },
          { name: 'Why', class: 'wide' },
        ]}
        rows={first.map((drift) => driftCells(drift, teams))}
      />
      {count > first.length && <p>And {counted(count - first.length, 'more team')}.</p>}
    </>
  );
}

function driftCells(drift: DriftIssue, teams: TeamsById): Child[] {
  return [
    <TeamLink id={drift.teamId} team={teams.get(drift.teamId)} />,
    <CustomerLink customerId={drift.customerId} />,
    <Changes {...drift} />,
    <CauseText issue={drift} />,
  ];
}
