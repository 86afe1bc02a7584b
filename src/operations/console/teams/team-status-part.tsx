import type { Child } from 'hono/jsx';
import type { PlanSelection } from '../../../core/plan-selection.ts';
import type { SubscriptionEvent } from '../../../core/subscription-event.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import { Badge, type Tone } from '../components/badge.tsx';
import { Facts } from '../components/facts.tsx';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { filterUrl } from '../events/event-filter.ts';
import type { Remark, Since, Standing } from './team-status.ts';
import { shortPlan } from './timeline.ts';

export type StandingPartProps = {
  readonly team: NamedTeam;
  readonly standing: Standing;
  readonly remarks: readonly Remark[];
  readonly planSelection: PlanSelection;
};

/** Why a team has its plan or none, in words that are read within ten seconds. */
export function StandingPart({ team, standing, remarks, planSelection }: StandingPartProps) {
  const { word, tone } = BADGES[standing.kind];
  return (
    <Panel title="The plan now" id="plan">
      <p class="lead">
        <Badge tone={tone}>{word}</Badge> <Why team={team} standing={standing} />
      </p>
      {remarks.map((remark) => (
        <p>
          <RemarkText remark={remark} planSelection={planSelection} />
        </p>
      ))}
      <Facts facts={factsOf(team)} />
    </Panel>
  );
}

const BADGES = {
  'has plan': { word: 'has a plan', tone: 'good' },
  'lost plan': { word: 'no plan', tone: 'bad' },
  unlinked: { word: 'no plan', tone: 'warning' },
  unheard: { word: 'nothing heard', tone: 'warning' },
  'without effect': { word: 'no plan', tone: 'warning' },
  'at odds': { word: 'not as its events say', tone: 'bad' },
} as const satisfies Record<Standing['kind'], { readonly word: string; readonly tone: Tone }>;

function Why({ team, standing }: { readonly team: NamedTeam; readonly standing: Standing }) {
  switch (standing.kind) {
    case 'unlinked':
      return (
        <>
          It follows no customer yet, so no event concerns it. Your app stores the customer in
          teams.provider_customer_id at the checkout; or link it by hand:{' '}
          <code>npx instep team link {team.id} --customer cus_…</code>
        </>
      );
    case 'unheard':
      return (
        <>
          No event of its customer has ever come. If Stripe shows a subscription there,{' '}
          <a href="#reconcile">reconcile this team</a>.
        </>
      );
    case 'without effect':
      return (
        <>
          Events of its customer have come, and none that gives a plan: the last one said{' '}
          <StatusBadge status={standing.last.status} />
          {waysOf(standing.last.status)}
        </>
      );
    case 'has plan':
      return (
        <>
          It has{' '}
          <strong>
            <UntrustedText text={shortPlan(team.plan)} />
          </strong>{' '}
          <SinceText since={standing.since} />, by the subscription <Id of={standing.followed} />.
        </>
      );
    case 'lost plan':
      return (
        <>
          Its subscription <Id of={standing.followed} />{' '}
          {standing.followed.status === 'unpaid'
            ? 'became unpaid: its payments have failed, and Stripe gave up'
            : 'was canceled'}
          . It has no plan <SinceText since={standing.since} />.
        </>
      );
    case 'at odds':
      return (
        <>
          It has <UntrustedText text={shortPlan(team.plan)} />, and its events say{' '}
          <strong>
            <UntrustedText text={shortPlan(standing.shouldBe)} />
          </strong>
          . Somebody else than Instep has written it. <a href="#reconcile">Reconcile this team</a>,
          or: <code>npx instep rebuild --team {team.id}</code>
        </>
      );
  }
}

/** What becomes of a status that has no effect. */
function waysOf(status: string): string {
  if (status === 'incomplete') return ': the first payment is pending.';
  if (status === 'incomplete_expired') return ': the first payment has failed.';
  if (status === 'past_due') return ': a payment has failed, and Stripe tries again.';
  return ', which changes nothing.';
}

function SinceText({ since }: { readonly since: Since }) {
  const { seconds, isExact } = since;
  return (
    <>
      {isExact ? 'since' : 'at least since'} <Moment at={new Date(seconds * 1_000)} />
    </>
  );
}

type RemarkTextProps = { readonly remark: Remark; readonly planSelection: PlanSelection };

function RemarkText({ remark, planSelection }: RemarkTextProps) {
  switch (remark.kind) {
    case 'others live':
      return (
        <>
          {remark.count > 1 && `${remark.count} other subscriptions would give a plan, too. `}
          Its subscription <Id of={remark.newest} /> is{' '}
          <StatusBadge status={remark.newest.status} />, but the team follows another one: by{' '}
          {planSelection === 'newest'
            ? 'TEAM_PLAN=newest the newest event counts, and TEAM_PLAN=best would keep the best live subscription.'
            : 'TEAM_PLAN=best an active one counts more than a trial, and of two alike the newer one.'}
        </>
      );
    case 'uncertain':
      return (
        <>
          Nothing tells which of several events of one second came last for{' '}
          <Id of={remark.subscription} />. Stripe's API is asked by itself within seconds; until
          then the later arrival counts.
        </>
      );
    case 'newest without effect':
      return (
        <>
          The newest event said <StatusBadge status={remark.newest.status} />
          {waysOf(remark.newest.status)} The team keeps what it had.
        </>
      );
    case 'nameless':
      return (
        <>
          The product <UntrustedText text={remark.productId} /> has no name yet. Stripe's API is
          asked for it every hour: may STRIPE_SECRET_KEY read products?
        </>
      );
    case 'parked':
      return (
        <>
          {remark.count === 1 ? 'An event' : `${remark.count} events`} came while no team had the
          customer. A running server applies {remark.count === 1 ? 'it' : 'them'} within seconds.
        </>
      );
  }
}

function Id({ of: event }: { readonly of: SubscriptionEvent }) {
  if (event.subscriptionId === null) return <>without an id</>;
  return <UntrustedText text={event.subscriptionId} maxLength={60} />;
}

function factsOf({ customerId, plan }: NamedTeam): (readonly [string, Child])[] {
  const { providerProductId, providerSubscriptionId, planName, subscriptionStatus } = plan;
  const text = (value: string | null) => (value === null ? '–' : <UntrustedText text={value} />);
  return [
    [
      'Customer',
      customerId === null ? (
        '–'
      ) : (
        <>
          <UntrustedText text={customerId} />{' '}
          <a href={filterUrl('/events', { customer: customerId })}>all its events</a>
        </>
      ),
    ],
    ['Status', <StatusBadge status={subscriptionStatus} />],
    ['Plan', text(planName)],
    ['Product', text(providerProductId)],
    ['Subscription', text(providerSubscriptionId)],
  ];
}
