import type { NamedTeam } from '../../store/named-teams.ts';
import type { KnownCustomers } from '../../store/subscriptions.ts';
import type { TeamPlanChoice } from '../../subscriptions/team-plan.ts';
import type { CustomerHistory } from '../../sync/explain-history.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ForeignText } from '../components/foreign-text.tsx';
import { Moment } from '../components/moment.tsx';
import { Pager } from '../components/pager.tsx';
import { Panel } from '../components/panel.tsx';
import { Page } from '../page.tsx';
import { ComparePart } from './compare-part.tsx';
import type { Comparison } from './compare-team.ts';
import { HistoryTable } from './history-table.tsx';
import { remarksOn, standingOf } from './standing.ts';
import { StandingPart } from './standing-part.tsx';
import { SubscriptionTable } from './subscription-table.tsx';
import { TimeLinePicture } from './time-line-picture.tsx';

export type TeamPageProps = {
  readonly team: NamedTeam;
  readonly known: KnownCustomers;
  readonly history: CustomerHistory;
  readonly choice: TeamPlanChoice;
  /** What came of comparing it with Stripe, if that was asked for. */
  readonly comparison: Comparison | null;
};

/** A team: first why it has its plan or none, then all that it follows from. */
export function TeamPage({ team, known, history, choice, comparison }: TeamPageProps) {
  const { id, name, customerId } = team;
  const { entries, before, prunedBeforeMs } = history;
  const standing = standingOf({ team, known, history, choice });
  const remarks = remarksOn({ team, known, history, choice });
  const states = customerId === null ? undefined : known.customers.get(customerId);
  return (
    <Page title={`Team ${id}`} area="Teams">
      {name !== null && (
        <p class="subtitle">
          <ForeignText text={name} maxLength={200} />
        </p>
      )}
      <StandingPart {...{ team, standing, remarks, choice }} />
      {customerId !== null && <ComparePart team={team} comparison={comparison} />}
      {states !== undefined && (
        <Panel title="Its customer's subscriptions, as far as we know" id="subscriptions">
          <SubscriptionTable customer={states} choice={choice} />
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
