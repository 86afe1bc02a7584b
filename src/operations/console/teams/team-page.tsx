import { type Context, Hono } from 'hono';
import type { ApplicationId } from '../../../core/application-id.ts';
import { type CustomerHistory, explainHistory } from '../../../event-log/customer-history.ts';
import type { ReconcileServices } from '../../../maintenance/reconcile/options.ts';
import { type NamedTeam, readNamedTeam } from '../../../queries/named-teams.ts';
import { type KnownCustomers, readCustomers } from '../../../queries/subscriptions.ts';
import { Pager } from '../components/pager.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { notFound } from '../problems.tsx';
import { queryNumber, queryText } from '../query-parameters.ts';
import { ComparePanel } from './compare-panel.tsx';
import { type Comparison, compareTeam, REPAIRS, type Repair, repairOf } from './compare-team.ts';
import { teamName, teamUrl } from './find-teams.ts';
import { HistoryTable } from './history-table.tsx';
import { SubscriptionTable } from './subscription-table.tsx';
import { type TeamRecord, teamStatusOf } from './team-status.ts';
import { TeamStatusPanel } from './team-status-panel.tsx';
import { TimelineChart } from './timeline-chart.tsx';

/** How many events of a team's customer are on a page. */
const LIMIT = 30;

const NOTHING_KNOWN: KnownCustomers = { customers: new Map(), names: new Map() };
const NO_HISTORY: CustomerHistory = { entries: [], before: null, prunedBeforeMs: null };

/** `/teams/:id`: why a team has its plan or none, its history, and a comparison with Stripe. */
export function teamPage(options: ConsoleOptions, services: ReconcileServices): Hono {
  const { database, planSelection } = options;
  const { query } = database;
  const app = new Hono();

  async function readTeam(context: Context): Promise<NamedTeam> {
    const team = await readNamedTeam(query, queryText(context.req.param('id')));
    if (team === null) throw notFound('There is no team with this id.');
    return team;
  }

  async function readHistory({ id, customerId }: NamedTeam, before: number | null) {
    if (customerId === null) return NO_HISTORY;
    const request = { customerId, planSelection, teamIds: [id], before, limit: LIMIT };
    return await explainHistory(query, request);
  }

  app.get('/:id', async (context) => {
    const { req, html } = context;
    const team = await readTeam(context);
    const { customerId } = team;
    const before = queryNumber(req.query('before'));
    const history = await readHistory(team, before);
    if (before !== null) return html(<OlderPage team={team} history={history} />);
    const known = customerId === null ? NOTHING_KNOWN : await readCustomers(query, [customerId]);
    const isCompared = req.query('compare') !== undefined;
    const comparison = isCompared ? await compareTeam(team, services, { isDryRun: true }) : null;
    const repair = REPAIRS.find((one) => one === req.query('repair')) ?? null;
    const record = { team, known, history, planSelection };
    return html(<TeamPage {...{ record, comparison, repair }} />);
  });

  app.post('/:id/repair', async (context) => {
    const team = await readTeam(context);
    const comparison = await compareTeam(team, services, { isDryRun: false });
    const repair = repairOf(comparison);
    return context.redirect(`${teamUrl(team.id)}?compare=yes&repair=${repair}#comparison`, 303);
  });

  return app;
}

type TeamPageProps = {
  readonly record: TeamRecord;
  readonly comparison: Comparison | null;
  readonly repair: Repair | null;
};

function TeamPage({ record, comparison, repair }: TeamPageProps) {
  const { team, known, history, planSelection } = record;
  const { id, customerId } = team;
  const customer = customerId === null ? undefined : known.customers.get(customerId);
  return (
    <Page
      title={`${teamName(team)} · Team ${id}`}
      heading={<TeamHeading team={team} />}
      area="Teams"
    >
      <TeamStatusPanel team={team} planSelection={planSelection} {...teamStatusOf(record)} />
      {customerId !== null && <ComparePanel {...{ team, comparison, repair }} />}
      {customer !== undefined && (
        <Panel title="Known subscriptions" id="subscriptions">
          <SubscriptionTable customer={customer} planSelection={planSelection} />
        </Panel>
      )}
      {customerId !== null && <HistoryPanel teamId={id} history={history} />}
    </Page>
  );
}

function TeamHeading({ team }: { readonly team: NamedTeam }) {
  return (
    <>
      <UntrustedText text={teamName(team)} maxLength={80} />{' '}
      <span class="quiet">Team {team.id}</span>
    </>
  );
}

type HistoryPanelProps = { readonly teamId: ApplicationId; readonly history: CustomerHistory };

function HistoryPanel({ teamId, history }: HistoryPanelProps) {
  const { entries, before, prunedBeforeMs } = history;
  return (
    <Panel title="History" id="history">
      {entries.length === 0 ? (
        <Notice kind="empty" title="The log has no event of this customer" />
      ) : (
        <>
          <TimelineChart entries={entries} />
          <HistoryTable entries={entries} />
        </>
      )}
      <Pager next={olderLink(teamId, before)} />
      {prunedBeforeMs !== null && (
        <p class="quiet">
          Events received before <Time ms={prunedBeforeMs} /> may have been pruned from the log.
        </p>
      )}
    </Panel>
  );
}

type OlderPageProps = { readonly team: NamedTeam; readonly history: CustomerHistory };

function OlderPage({ team: { id }, history: { entries, before } }: OlderPageProps) {
  return (
    <Page title={`Older events of team ${id}`} area="Teams">
      {entries.length === 0 ? (
        <Notice kind="empty" title="No older events" />
      ) : (
        <HistoryTable entries={entries} />
      )}
      <Pager first={{ href: teamUrl(id), text: 'Newest' }} next={olderLink(id, before)} />
    </Page>
  );
}

function olderLink(teamId: ApplicationId, before: number | null) {
  return before !== null && { href: `${teamUrl(teamId)}?before=${before}`, text: 'Older events' };
}
