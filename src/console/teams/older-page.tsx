import type { NamedTeam } from '../../store/named-teams.ts';
import type { CustomerHistory } from '../../sync/explain-history.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Page } from '../page.tsx';
import { HistoryTable } from './history-table.tsx';

export type OlderPageProps = { readonly team: NamedTeam; readonly history: CustomerHistory };

/** What happened to a team before what its own page shows. */
export function OlderPage({ team, history }: OlderPageProps) {
  const { entries, before } = history;
  return (
    <Page title={`Older events of team ${team.id}`} area="Teams">
      {entries.length === 0 ? (
        <EmptyState title="Nothing is older" />
      ) : (
        <HistoryTable entries={entries} />
      )}
      <nav class="pager" aria-label="Pages">
        <a href={`/teams/${team.id}`}>Newest</a>
        {before !== null && (
          <a href={`/teams/${team.id}?before=${before}`} rel="next">
            Older
          </a>
        )}
      </nav>
    </Page>
  );
}
