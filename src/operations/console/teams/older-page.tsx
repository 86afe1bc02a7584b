import type { CustomerHistory } from '../../../event-log/explain-history.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Pager } from '../components/pager.tsx';
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
      <Pager
        first={{ href: `/teams/${team.id}`, text: 'Newest' }}
        next={
          before === null ? null : { href: `/teams/${team.id}?before=${before}`, text: 'Older' }
        }
      />
    </Page>
  );
}
