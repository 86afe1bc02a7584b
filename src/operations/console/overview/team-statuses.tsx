import type { TeamCounts } from '../../../queries/team-counts.ts';
import { durationOf } from '../../../runtime/duration.ts';
import { Badge } from '../components/badge.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { Table } from '../components/table.tsx';
import { countText } from './issues.ts';

/** How many teams have which status, the most first. */
export function TeamStatuses({
  counts,
  nowMs,
}: {
  readonly counts: TeamCounts | null;
  readonly nowMs: number;
}) {
  if (counts === null)
    return <EmptyState title="Not counted yet">It takes some seconds.</EmptyState>;
  const rows = Object.entries(counts.byStatus).sort(([, a], [, b]) => b - a);
  if (rows.length === 0) {
    return (
      <EmptyState title="No teams yet">Your application adds them to its table teams.</EmptyState>
    );
  }
  return (
    <>
      <Table label="Teams by status" columns={['Status', { name: 'Teams', align: 'end' }]}>
        {rows.map(([status, teams]) => (
          <tr>
            <td>
              {status === 'other' ? (
                <Badge tone="warning">another status</Badge>
              ) : (
                <StatusBadge status={status === 'none' ? null : status} />
              )}
            </td>
            <td class="end">{countText(teams)}</td>
          </tr>
        ))}
      </Table>
      <p class="quiet">Counted {durationOf(nowMs - counts.countedAtMs)} ago.</p>
    </>
  );
}
