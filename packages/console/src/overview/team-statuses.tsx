import { countText, type TeamCounts } from 'instep-operate';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { teamsUrl } from '../links/subject-links.tsx';

/** The number of teams per status, most frequent first. */
export function TeamStatuses({ counts }: { readonly counts: TeamCounts | null }) {
  if (counts === null) {
    return (
      <Notice kind="empty" title="Too many teams">
        They can't be counted within half a second.
      </Notice>
    );
  }
  if (counts.statuses.length === 0) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams.
      </Notice>
    );
  }
  return (
    <Table
      label="Number of teams"
      columns={['Status', { name: 'Teams', class: 'end' }]}
      rows={counts.statuses.map(({ status, teams }) => [
        <a id={`teams-${status}`} href={teamsUrl({ status })}>
          <StatusOf status={status} />
        </a>,
        countText(teams),
      ])}
    />
  );
}

/** The counts group rare statuses as `other`, and `none` are the teams without a status. */
function StatusOf({ status }: { readonly status: string }) {
  if (status === 'other') return <Badge tone="warning">another status</Badge>;
  return <StatusBadge status={status === 'none' ? null : status} />;
}
