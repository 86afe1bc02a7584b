import { countText, type TeamCounts } from 'instep-operate';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { teamsUrl } from '../links/subject-links.tsx';

/** The number of teams per status, most frequent first. */
export function TeamStatuses({ counts }: { readonly counts: TeamCounts | null }) {
  if (counts === null) return <p>Too many teams: they can't be counted within half a second.</p>;
  if (counts.statuses.length === 0) return <p>No teams yet: your app adds them.</p>;
  return (
    <ul class="legend">
      {counts.statuses.map(({ status, teams }) => (
        <li>
          <a id={`teams-${status}`} href={teamsUrl({ status })}>
            <StatusOf status={status} />
          </a>{' '}
          {countText(teams)}
        </li>
      ))}
    </ul>
  );
}

/** The counts group rare statuses as `other`, and `none` are the teams without a status. */
function StatusOf({ status }: { readonly status: string }) {
  if (status === 'other') return <Badge tone="warning">another status</Badge>;
  return <StatusBadge status={status === 'none' ? null : status} />;
}
