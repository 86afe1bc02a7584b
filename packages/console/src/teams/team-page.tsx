import { Hono } from 'hono';
import {
  type ExplainedTeam,
  explainTeam,
  type OperateContext,
  type Person,
  type RecordedAction,
  readPeople,
  readPlanNames,
  type TeamSubscription,
  type WaitingCustomer,
} from 'instep-operate';
import { ActionSummary, actionsOf } from '../actions/action-summary.tsx';
import { readTexts } from '../actions/selection.ts';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { readStart } from '../components/list.tsx';
import { Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { teamName, teamUrl } from '../links.tsx';
import { Page } from '../page.tsx';
import { notFound } from '../problems.tsx';
import { queryText } from '../query-parameters.ts';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { DismissalNotice, LinkPanel, readOffered } from './link-panel.tsx';
import { PlanPanel } from './plan-panel.tsx';
import { TeamStatusPanel } from './team-status-panel.tsx';
import { PAGE_ITEMS, TimelinePanel, type TimelineProps } from './timeline.tsx';

/** `/teams/:id`: why a team has its plan or none, its history, and a comparison with Stripe. */
export function teamPage(options: OperateContext): Hono<ConsoleEnv> {
  return new Hono<ConsoleEnv>().get('/:id', async ({ req, render, var: who }) => {
    // Names and addresses are personal data.
    const asksStripe = canAct(who);
    const teamId = queryText(req.param('id'));
    const start = readStart((name) => req.query(name) ?? null);
    const request = { start, limit: PAGE_ITEMS };
    const explained = (await explainTeam(options, teamId, request)) ?? noTeam();
    const { team, issues, timeline } = explained;
    const acted = await actionsOf(options, req.query('done'));
    const isUnknown = issues.some(({ code }) => code === 'unknown-customer');
    const isLinkable = team.customerId === null || isUnknown;
    const isPaid = Boolean(team.plan.providerSubscriptionId);
    const [waiting, plans, people] = await Promise.all([
      isLinkable ? readOffered(options, team, asksStripe) : null,
      isPaid ? null : readPlanNames(options),
      readPeople(options, asksStripe && team.customerId !== null ? [team.customerId] : []),
    ]);
    const person = people.get(team.customerId ?? '');
    const entered = readTexts(new URL(req.url).searchParams).get(`team:${team.id}`) ?? '';
    return render(
      <TeamPage {...{ explained, person, waiting, plans, entered, acted, timeline }} />,
    );
  });
}

function noTeam(): never {
  throw notFound('There is no team with this id.');
}

type TeamPageProps = {
  readonly explained: ExplainedTeam;
  /** Whom its customer stands for. */
  readonly person: Person | undefined;
  /** `null` unless the team needs a customer. */
  readonly waiting: readonly WaitingCustomer[] | null;
  /** The plans that it can be given; `null` where a subscription decides. */
  readonly plans: readonly string[] | null;
  /** The customer that was entered to be linked. */
  readonly entered: string;
  readonly acted: readonly RecordedAction[];
} & Omit<TimelineProps, 'team'>;

function TeamPage({ explained, person, waiting, plans, ...props }: TeamPageProps) {
  const { entered, acted, ...shown } = props;
  const { team, subscriptions, productNames, dismissal } = explained;
  const { id } = team;
  const failed = acted.find(({ isDone }) => !isDone) ?? null;
  const link = <LinkPanel {...{ team, waiting, entered, failed }} />;
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
      <ActionSummary actions={acted} back={teamUrl(id)} />
      {dismissal !== null && <DismissalNotice team={team} dismissal={dismissal} />}
      <TeamStatusPanel {...{ explained, person }} isLinkable={waiting !== null} />
      {waiting !== null && link}
      <TimelinePanel team={team} {...shown} />
      {subscriptions.length > 0 && (
        <Panel title="Known subscriptions" id="subscriptions">
          <SubscriptionTable {...{ subscriptions, productNames }} />
        </Panel>
      )}
      {plans !== null && <PlanPanel {...{ team, plans, failed }} />}
      {waiting === null && link}
    </Page>
  );
}

const COLUMNS = ['Subscription', 'Status', 'Product', 'Last effect', 'Note'];

type SubscriptionTableProps = Pick<ExplainedTeam, 'subscriptions' | 'productNames'>;

/** The customer's subscriptions, newest first, and which of them decides the team's plan. */
function SubscriptionTable({ subscriptions, productNames }: SubscriptionTableProps) {
  const rows = subscriptions.map(({ subscription, order, isDeciding }) => [
    <OptionalText text={subscription.subscriptionId} maxLength={120} />,
    <StatusBadge status={subscription.status} />,
    <OptionalText text={productNames.get(subscription.productId) ?? subscription.productId} />,
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
