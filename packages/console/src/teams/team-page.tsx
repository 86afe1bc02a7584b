import { type Context, Hono } from 'hono';
import {
  act,
  type Comparison,
  type CustomerHistory,
  compareTeam,
  type FoundIssue,
  type NamedTeam,
  type OperateContext,
  type RecordedAction,
  readActed,
  readTeamIssue,
} from 'instep/operate';
import {
  explainHistory,
  pseudonymsWith,
  readCustomers,
  readLinkedMs,
  readNamedTeam,
} from 'instep/operate/inside';
import { ActionSummary, recordedText } from '../actions/action-summary.tsx';
import { readWaitingCustomers, type WaitingCustomers } from '../attention/waiting-customers.tsx';
import { Panel } from '../components/panels.tsx';
import { UntrustedText } from '../components/text.tsx';
import { sendFile } from '../export.ts';
import { teamName, teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { notFound } from '../problems.tsx';
import { queryNumber, queryText } from '../query-parameters.ts';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import { ComparePanel } from './compare-panel.tsx';
import { exportTeam } from './export-team.ts';
import { HistoryPanel, historyLimit, OlderPage } from './history-panel.tsx';
import { type LinkFailure, LinkPanel } from './link-panel.tsx';
import { SubscriptionTable } from './subscription-table.tsx';
import { type TeamRecord, teamStatusOf } from './team-status.ts';
import { TeamStatusPanel } from './team-status-panel.tsx';

const NOTHING_KNOWN = { known: { customers: new Map(), names: new Map() }, linkedMs: null };
const NO_HISTORY: CustomerHistory = { entries: [], before: null, prunedBeforeMs: null };

/** `/teams/:id`: why a team has its plan or none, its history, and a comparison with Stripe. */
export function teamPage(options: OperateContext): Hono<ConsoleEnv> {
  const { database, planSelection, now, nonce, logger } = options;
  const { query } = database;
  const app = new Hono<ConsoleEnv>();

  async function readTeam(context: Context): Promise<NamedTeam> {
    const team = await readNamedTeam(query, queryText(context.req.param('id')));
    if (team === null) throw notFound('There is no team with this id.');
    return team;
  }

  async function readHistory(
    { id, customerId }: NamedTeam,
    { before, limit }: { readonly before: number | null; readonly limit: number },
  ) {
    if (customerId === null) return NO_HISTORY;
    const request = { customerId, planSelection, teamIds: [id], before, limit };
    return await explainHistory(query, request);
  }

  async function readRecord(team: NamedTeam, history: CustomerHistory): Promise<TeamRecord> {
    const { customerId } = team;
    if (customerId === null) return { team, history, planSelection, ...NOTHING_KNOWN };
    const known = await readCustomers(query, [customerId]);
    const linkedMs = await readLinkedMs(query, team.id, customerId);
    return { team, history, planSelection, known, linkedMs };
  }

  app.get('/:id', async (context) => {
    const { req, render } = context;
    const team = await readTeam(context);
    const before = queryNumber(req.query('before'));
    const limit = historyLimit(req.query('events'));
    const history = await readHistory(team, { before, limit });
    const part = { team, history, limit, before };
    if (before !== null) return render(<OlderPage {...part} />);
    const record = await readRecord(team, history);
    const isCompared = req.query('compare') !== undefined;
    const comparison = isCompared ? await compareTeam(options, team.id) : null;
    const acted = await readActed(options, queryText(req.query('done')));
    // After the comparison, which stores what it finds.
    const issue = await readTeamIssue(options, team);
    const isLinkable = team.customerId === null || issue?.code === 'unknown-customer';
    const waiting = isLinkable ? await readWaitingCustomers(options) : null;
    const entered = queryText(req.query('customer'));
    return render(<TeamPage {...{ record, issue, waiting, entered, comparison, acted, limit }} />);
  });

  app.get('/:id/export', async (context) => {
    const team = await readTeam(context);
    const history = await readHistory(team, { before: null, limit: historyLimit(undefined) });
    const record = await readRecord(team, history);
    const isOriginal = context.req.query('bodies') === 'original';
    // The key is discarded afterward.
    const pseudonymOf = isOriginal ? null : pseudonymsWith(nonce());
    const parts = exportTeam(query, { record, nowMs: now(), pseudonymOf });
    const name = `team-${encodeURIComponent(team.id)}.json`;
    return sendFile(context, { name, contentType: 'application/json', parts }, logger);
  });

  // After a session has ended, a form that is sent again leads here.
  app.on('GET', ['/:id/repair', '/:id/link'], async (context) => {
    const { id } = await readTeam(context);
    return context.redirect(teamUrl(id), 303);
  });

  app.post('/:id/repair', async (context) => {
    const { id } = await readTeam(context);
    const subject = { kind: 'team', id: String(id) } as const;
    const { formId } = await act(options, operatorOf(context.var), [{ action: 'repair', subject }]);
    return context.redirect(`${teamUrl(id)}?compare=yes&done=${formId}#comparison`, 303);
  });

  app.post('/:id/link', async (context) => {
    const { id } = await readTeam(context);
    const { customer } = await context.req.parseBody();
    const linkTo = queryText(customer);
    const subject = { kind: 'team', id: String(id) } as const;
    const request = { action: 'link', subject, linkTo } as const;
    const { formId } = await act(options, operatorOf(context.var), [request]);
    const parameters = new URLSearchParams({ done: formId, customer: linkTo });
    return context.redirect(`${teamUrl(id)}?${parameters}`, 303);
  });

  return app;
}

type TeamPageProps = {
  readonly record: TeamRecord;
  /** What the last comparison found, if it still holds. */
  readonly issue: FoundIssue | null;
  /** `null` unless the team needs a customer. */
  readonly waiting: WaitingCustomers | null;
  /** The customer that was entered to be linked. */
  readonly entered: string;
  readonly comparison: Comparison | null;
  readonly acted: readonly RecordedAction[];
  /** The number of events to show. */
  readonly limit: number;
};

function TeamPage(props: TeamPageProps) {
  const { record, issue, waiting, entered, comparison, acted, limit } = props;
  const { team, known, history, planSelection } = record;
  const { id, customerId } = team;
  const customer = customerId === null ? undefined : known.customers.get(customerId);
  return (
    <Page
      title={`${teamName(team)} · Team ${id}`}
      heading={<TeamHeading team={team} />}
      area="Teams"
    >
      {comparison === null && <ActionSummary actions={acted} />}
      <p>
        <a href={`${teamUrl(id)}/export`} download>
          Export for support
        </a>{' '}
        <span class="quiet">
          without personal data, or{' '}
          <a href={`${teamUrl(id)}/export?bodies=original`} download>
            with original events
          </a>
        </span>
      </p>
      <TeamStatusPanel
        {...{ team, issue, waiting, planSelection }}
        {...teamStatusOf(record)}
        isCompared={comparison !== null}
      />
      {waiting !== null && <LinkPanel {...{ team, waiting }} failure={failureOf(acted, entered)} />}
      {customerId !== null && (
        <ComparePanel {...{ team, comparison, acted }} isLinkable={waiting !== null} />
      )}
      {customer !== undefined && (
        <Panel title="Known subscriptions" id="subscriptions">
          <SubscriptionTable customer={customer} planSelection={planSelection} />
        </Panel>
      )}
      {customerId !== null && <HistoryPanel {...{ team, history, limit }} before={null} />}
    </Page>
  );
}

/** The last form to link the team, if it failed. */
function failureOf([acted]: readonly RecordedAction[], customer: string): LinkFailure | null {
  if (acted === undefined || acted.action !== 'link' || acted.isDone) return null;
  return { customer, error: recordedText(acted) };
}

function TeamHeading({ team }: { readonly team: NamedTeam }) {
  return (
    <>
      <UntrustedText text={teamName(team)} maxLength={80} />{' '}
      <span class="quiet">Team {team.id}</span>
    </>
  );
}
