import { type Context, Hono } from 'hono';
import {
  type Comparison,
  compareTeam,
  type ExplainedTeam,
  explainTeam,
  type NamedTeam,
  type OperateContext,
  perform,
  type RecordedAction,
  readTeam,
  readTimeline,
  type TeamSubscription,
} from 'instep-operate';
import { ActionSummary, actionsOf, recordedText } from '../actions/action-summary.tsx';
import { readUntil, requestOf } from '../attention/selection.ts';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { teamName, teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { notFound } from '../problems.tsx';
import { queryText } from '../query-parameters.ts';
import { type ConsoleEnv, operatorOf } from '../request-context.ts';
import { ComparePanel } from './compare-panel.tsx';
import {
  CustomerPanel,
  DismissalNotice,
  type LinkFailure,
  LinkPanel,
  readWaitingCustomers,
  type WaitingCustomers,
} from './link-panel.tsx';
import { TeamStatusPanel } from './team-status-panel.tsx';
import { OlderPage, PAGE_ITEMS, TimelinePanel } from './timeline.tsx';

/** What a form of the page can do. */
const TEAM_ACTIONS = ['link', 'unlink', 'repair', 'dismiss', 'restore'] as const;

/** `/teams/:id`: why a team has its plan or none, its history, and a comparison with Stripe. */
export function teamPage(options: OperateContext): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  const idOf = (context: Context) => queryText(context.req.param('id'));

  async function findTeam(context: Context): Promise<NamedTeam> {
    return (await readTeam(options, idOf(context))) ?? noTeam();
  }

  app.get('/:id', async (context) => {
    const { req, render } = context;
    const before = req.query('before');
    if (before !== undefined) {
      const team = await findTeam(context);
      const page = { teamId: team.id, before, limit: PAGE_ITEMS };
      const timeline = (await readTimeline(options, page)) ?? noTeam();
      return render(<OlderPage {...{ team, timeline }} isNewest={false} />);
    }
    return await showTeam(context, null);
  });

  /** @param comparison made for this page */
  async function showTeam(context: Context<ConsoleEnv>, comparison: Comparison | null) {
    const { req, render } = context;
    const page = { limit: PAGE_ITEMS };
    const explained = (await explainTeam(options, idOf(context), page)) ?? noTeam();
    const { team, issue } = explained;
    const acted = await actionsOf(options, req.query('done'));
    const isLinkable = team.customerId === null || issue?.code === 'unknown-customer';
    const waiting = isLinkable ? await readWaitingCustomers(options) : null;
    const entered = queryText(req.query('customer'));
    return await render(<TeamPage {...{ explained, waiting, entered, comparison, acted }} />);
  }

  // It stores what it finds, and makes calls to Stripe that all share.
  app.post('/:id/compare', async (context) =>
    showTeam(context, await compareTeam(options, idOf(context))),
  );

  // After a form was answered with an error, its address is that of the page.
  app.get('/:id/:action', async (context) => {
    const { id } = await findTeam(context);
    return context.redirect(teamUrl(id), 303);
  });

  app.post('/:id/:action', async (context) => {
    const team = await findTeam(context);
    const action = TEAM_ACTIONS.find((one) => one === context.req.param('action'));
    if (action === undefined) throw notFound();
    const { customer, note, until, expected } = await context.req.parseBody();
    const subject = { kind: 'team', id: String(team.id) } as const;
    const why = { note: queryText(note) || null, until: readUntil(queryText(until)) };
    const fields = { linkTo: customer, customer: expected, dismissal: expected };
    const requests = [requestOf(action, subject, fields)];
    const { callId } = await perform(options, operatorOf(context.var), requests, why);
    const parameters = new URLSearchParams({ done: callId });
    if (action === 'link') parameters.set('customer', queryText(customer));
    return context.redirect(`${teamUrl(team.id)}?${parameters}`, 303);
  });

  return app;
}

function noTeam(): never {
  throw notFound('There is no team with this id.');
}

type TeamPageProps = {
  readonly explained: ExplainedTeam;
  /** `null` unless the team needs a customer. */
  readonly waiting: WaitingCustomers | null;
  /** The customer that was entered to be linked. */
  readonly entered: string;
  readonly comparison: Comparison | null;
  readonly acted: readonly RecordedAction[];
};

function TeamPage(props: TeamPageProps) {
  const { explained, waiting, entered, comparison, acted } = props;
  const { team, issue, planSelection, status, notes, subscriptions, timeline, dismissal } =
    explained;
  const { id, customerId } = team;
  const isDoubtful = issue !== null || ['no events', 'changed by hand'].includes(status.kind);
  const needsComparison = waiting === null && (isDoubtful || !explained.isCompared);
  return (
    <Page
      title={`${teamName(team)} · Team ${id}`}
      heading={
        <>
          <UntrustedText text={teamName(team)} maxLength={80} />{' '}
          <span class="quiet">Team {id}</span>
        </>
      }
      area="Teams"
    >
      {comparison === null && <ActionSummary actions={acted} teamId={id} />}
      {dismissal !== null && <DismissalNotice team={team} dismissal={dismissal} />}
      <TeamStatusPanel
        {...{ team, issue, planSelection, status, notes }}
        isLinkable={waiting !== null}
        isCompared={comparison !== null}
      />
      {waiting !== null && <LinkPanel {...{ team, waiting }} failure={failureOf(acted, entered)} />}
      {customerId !== null && (
        <ComparePanel
          {...{ team, comparison, acted, needsComparison }}
          dismissalId={explained.dismissalId}
          wasCompared={explained.isCompared}
        />
      )}
      <TimelinePanel {...{ team, timeline }} isNewest />
      {subscriptions.length > 0 && (
        <Panel title="Known subscriptions" id="subscriptions">
          <SubscriptionTable subscriptions={subscriptions} />
        </Panel>
      )}
      {customerId !== null && waiting === null && (
        <CustomerPanel team={team} failure={failureOf(acted, entered)} />
      )}
    </Page>
  );
}

/** The last form to link the team, if it failed. */
function failureOf([acted]: readonly RecordedAction[], customer: string): LinkFailure | null {
  if (acted === undefined || acted.action !== 'link' || acted.isDone) return null;
  return { customer, error: recordedText(acted) };
}

const COLUMNS = ['Subscription', 'Status', 'Product', 'Last effect', 'Note'];

/** The customer's subscriptions, newest first, and which of them decides the team's plan. */
function SubscriptionTable({ subscriptions }: Pick<ExplainedTeam, 'subscriptions'>) {
  const rows = subscriptions.map(({ subscription, order, isDeciding }) => [
    <OptionalText text={subscription.subscriptionId} maxLength={120} />,
    <StatusBadge status={subscription.status} />,
    <OptionalText text={subscription.productId} />,
    <Time ms={subscription.createdSeconds * 1_000} format="age" />,
    <Note {...{ isDeciding, order }} />,
  ]);
  return <Table label="Subscriptions" columns={COLUMNS} rows={rows} />;
}

type NoteProps = Pick<TeamSubscription, 'isDeciding' | 'order'>;

function Note({ isDeciding, order }: NoteProps) {
  const isUnknown = order === 'ambiguous';
  if (!isDeciding && !isUnknown) return <>–</>;
  return (
    <>
      {isDeciding && <Badge tone="accent">decides the plan</Badge>}{' '}
      {isUnknown && <Badge tone="warning">unknown order</Badge>}
    </>
  );
}
