import {
  counted,
  countText,
  type HealthReport,
  type Progress,
  type TeamCounts,
} from 'instep/operate';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Ago } from '../components/live.tsx';
import { Facts, Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { teamsUrl } from '../teams/team-filter.ts';
import { countBy } from '../teams/team-groups.ts';

type HealthFactsProps = { readonly health: HealthReport; readonly nowMs: number };

/** When what keeps the teams in sync last worked. What is wrong is in the list of issues. */
export function HealthFacts({ health, nowMs }: HealthFactsProps) {
  const { catchUp, reconciled } = health;
  const { lastReceivedMs } = health.figures;
  return (
    <Facts
      facts={[
        [
          'Last event',
          <a id="last-event" href="/events">
            {lastReceivedMs === null ? 'never' : <Ago ms={lastReceivedMs} nowMs={nowMs} />}
          </a>,
        ],
        ['Last catch-up', <LastCatchUp job={catchUp} nowMs={nowMs} />],
        [
          'Last reconciliation',
          <a id="reconciled" href="/reconcile">
            <LastReconciliation progress={reconciled} nowMs={nowMs} />
          </a>,
        ],
      ]}
    />
  );
}

type LastCatchUpProps = {
  readonly job: HealthReport['catchUp'];
  readonly nowMs: number;
};

function LastCatchUp({ job, nowMs }: LastCatchUpProps) {
  if (job === null || job.startedAtMs === null) return <>never</>;
  if (job.endedAtMs !== null) return <Ago ms={job.endedAtMs} nowMs={nowMs} />;
  return (
    <>
      running, started <Ago ms={job.startedAtMs} nowMs={nowMs} />
    </>
  );
}

type LastReconciliationProps = { readonly progress: Progress | null; readonly nowMs: number };

function LastReconciliation({ progress, nowMs }: LastReconciliationProps) {
  if (progress === null) return <>never</>;
  const { startedAtMs, counts, phase } = progress;
  if (phase !== 'done') {
    return (
      <>
        started <Ago ms={startedAtMs} nowMs={nowMs} />, not finished
      </>
    );
  }
  return (
    <>
      <Ago ms={startedAtMs} nowMs={nowMs} />: {counted(counts.drifts, 'team')} out of sync,{' '}
      {countText(counts.repaired)} repaired
    </>
  );
}

type TeamStatusesProps = { readonly counts: TeamCounts | null; readonly nowMs: number };

/** The number of teams per status, most frequent first. */
export function TeamStatuses({ counts, nowMs }: TeamStatusesProps) {
  if (counts === null) {
    return (
      <Notice kind="empty" title="Not counted yet">
        Counting takes a few seconds.
      </Notice>
    );
  }
  const rows = countBy(counts.groups, ({ status }) => [status]);
  if (rows.length === 0) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams.
      </Notice>
    );
  }
  return (
    <>
      <Table
        label="Number of teams"
        columns={['Status', { name: 'Teams', class: 'end' }]}
        rows={rows.map(([status, teams]) => [
          <a id={`teams-${status}`} href={teamsUrl({ status })}>
            <StatusOf status={status} />
          </a>,
          countText(teams),
        ])}
      />
      <p class="quiet">
        Counted <Ago ms={counts.countedAtMs} nowMs={nowMs} />.
      </p>
    </>
  );
}

/** The counts group rare statuses as `other`, and `none` are the teams without a status. */
function StatusOf({ status }: { readonly status: string }) {
  if (status === 'other') return <Badge tone="warning">another status</Badge>;
  return <StatusBadge status={status === 'none' ? null : status} />;
}
