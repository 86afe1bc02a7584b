import type { PlanSelection } from '../../../core/plan-selection.ts';
import type { CustomerHistory } from '../../../event-log/explain-history.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import type { KnownCustomers } from '../../../queries/subscriptions.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Moment } from '../components/moment.tsx';
import { Pager } from '../components/pager.tsx';
import { Panel } from '../components/panel.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { Page } from '../page.tsx';
import { ComparePart } from './compare-part.tsx';
import type { Comparison } from './compare-team.ts';
import { HistoryTable } from './history-table.tsx';
import { SubscriptionTable } from './subscription-table.tsx';
import { remarksOn, standingOf } from './team-status.ts';
import { StandingPart } from './team-status-part.tsx';
import { TimeLinePicture } from './timeline-picture.tsx';

export type TeamPageProps = {
  readonly team: NamedTeam;
  readonly known: KnownCustomers;
  readonly history: CustomerHistory;
  readonly planSelection: PlanSelection;
  /** What came of comparing it with Stripe, if that was asked for. */
  readonly comparison: Comparison | null;
};

/** A team: first why it has its plan or none, then all that it follows from. */
export function TeamPage({ team, known, history, planSelection, comparison }: TeamPageProps) {
  const { id, name, customerId } = team;
  const { entries, before, prunedBeforeMs } = history;
  const standing = standingOf({ team, known, history, planSelection });
  const remarks = remarksOn({ team, known, history, planSelection });
  const states = customerId === null ? undefined : known.customers.get(customerId);
  return (
    <Page title={`Team ${id}`} area="Teams">
      {name !== null && (
        <p class="subtitle">
          <UntrustedText text={name} maxLength={200} />
        </p>
      )}
      <StandingPart {...{ team, standing, remarks, planSelection }} />
      {customerId !== null && <ComparePart team={team} comparison={comparison} />}
      {states !== undefined && (
        <Panel title="Its customer's subscriptions, as far as we know" id="subscriptions">
          <SubscriptionTable customer={states} planSelection={planSelection} />
        </Panel>
      )}
      {customerId !== null && (
        <Panel title="What happened" id="history">
          {entries.length === 0 ? (
            <EmptyState title="No event of its customer is in the log" />
          ) : (
            <>
              <TimeLinePicture entries={entries} />
              <HistoryTable entries={entries} />
            </>
          )}
          {before !== null && (
            <Pager
              first={null}
              next={{ href: `/teams/${id}?before=${before}`, text: 'Older events' }}
            />
          )}
          {prunedBeforeMs !== null && (
            <p class="quiet">
              Events that came before <Moment at={new Date(prunedBeforeMs)} /> may have been pruned
              from the log.
            </p>
          )}
        </Panel>
      )}
    </Page>
  );
}
