import type { Child } from 'hono/jsx';
import type { ExplainedEvent } from '../../../event-log/explain-event.ts';
import type { Replayed } from '../../../event-log/replay.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import { Button } from '../components/button.tsx';
import { CsrfField } from '../components/csrf-field.tsx';
import { Facts } from '../components/facts.tsx';
import { Moment } from '../components/moment.tsx';
import { OutcomeBadge } from '../components/outcome-badge.tsx';
import { Panel } from '../components/panel.tsx';
import { NO_PLAN, type PlanRow, PlanTable } from '../components/plan-table.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { TeamLinks } from '../components/team-links.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import { Page } from '../page.tsx';
import { filterUrl } from './event-filter.ts';
import { eventUrl } from './event-link.ts';
import { Payload } from './payload.tsx';
import { reasonsOf } from './reason.ts';
import { ReplayNotice } from './replayed.tsx';
import { saidBy } from './said-by.ts';

export type EventPageProps = {
  readonly event: EventRow;
  readonly explained: ExplainedEvent;
  /** What came of Replay, if that was asked for. */
  readonly replayed: Replayed | null;
};

/** One event: what was decided on it and why, what it said, and what arrived. */
export function EventPage({ event, explained, replayed }: EventPageProps) {
  const { position, outcome, body } = event;
  const [first = '', ...remarks] = reasonsOf(event, explained);
  const plans = planRows(explained);
  return (
    <Page title={`Event at position ${position}`} area="Events">
      {replayed !== null && <ReplayNotice replayed={replayed} />}
      <Panel title="What was decided" id="decision">
        <p class="lead">
          <OutcomeBadge outcome={outcome} /> <UntrustedText text={first} maxLength={600} />
        </p>
        {remarks.map((remark) => (
          <p>
            <UntrustedText text={remark} maxLength={600} />
          </p>
        ))}
        {plans.length > 0 && <PlanTable label="The team's plan" rows={plans} />}
        <form method="post" action={`${eventUrl(position)}/replay`}>
          <CsrfField />
          <p class="quiet">
            Replay brings it through the one door again. By the rule that can do no harm: what was
            decided stays, and what was parked or unreadable is decided on if it can be now.
          </p>
          <Button>Replay</Button>
        </form>
      </Panel>
      <Panel title="Facts" id="facts">
        <Facts facts={factsOf(event, explained)} />
      </Panel>
      <Panel title="What arrived" id="payload">
        <details>
          <summary>Show all {body.byteLength.toLocaleString('en')} bytes</summary>
          <p class="quiet">
            They may hold what is personal. As they came:{' '}
            <a href={`${eventUrl(position)}/body`} download>
              a file
            </a>
          </p>
          <Payload body={body} />
        </details>
      </Panel>
    </Page>
  );
}

function planRows({ plans, teams }: ExplainedEvent): readonly PlanRow[] {
  const before = plans?.before ?? NO_PLAN;
  const after = plans?.after ?? NO_PLAN;
  const decided: readonly PlanRow[] =
    plans === null
      ? []
      : [
          { name: 'Before', plan: before, comparedWith: null },
          { name: 'After', plan: after, comparedWith: before },
        ];
  const now = teams.map(({ id, plan }) => ({
    name: (
      <>
        Now, <TeamLinks ids={[id]} />
      </>
    ),
    plan,
    comparedWith: null,
  }));
  return [...decided, ...now];
}

function factsOf(event: EventRow, { teams }: ExplainedEvent): (readonly [string, Child])[] {
  const { eventId, type, customerId, subscriptionId, createdAtMs, receivedAtMs, deliveries } =
    event;
  const said = saidBy(event);
  const ofCustomer = customerId === null ? null : filterUrl('/events', { customer: customerId });
  return [
    ['Id', eventId === null ? 'none' : <UntrustedText text={eventId} maxLength={300} />],
    ['Type', type],
    ['Team', teams.length === 0 ? 'none' : <TeamLinks ids={teams.map(({ id }) => id)} />],
    [
      'Customer',
      customerId === null || ofCustomer === null ? (
        'none'
      ) : (
        <>
          <UntrustedText text={customerId} maxLength={300} />{' '}
          <a href={ofCustomer}>all its events</a>
        </>
      ),
    ],
    ['Subscription', subscriptionId === null ? 'none' : <UntrustedText text={subscriptionId} />],
    ['Status', said === null ? 'unknown' : <StatusBadge status={said.status} />],
    ['Product', said?.productId == null ? 'none' : <UntrustedText text={said.productId} />],
    [
      'Created, by Stripe',
      createdAtMs === null ? 'unknown' : <Moment at={new Date(createdAtMs)} />,
    ],
    ['Received', <Moment at={new Date(receivedAtMs)} />],
    ['Delay', createdAtMs === null ? 'unknown' : delay(receivedAtMs - createdAtMs)],
    ['Delivered', deliveries === 1 ? 'once' : `${deliveries.toLocaleString('en')} times`],
  ];
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** Stripe tells whole seconds, and clocks differ. */
function delay(delayMs: number): string {
  if (delayMs < 0) return 'none: by its own clock Stripe made it later';
  const [unit, length] = UNITS.find(([, length]) => delayMs >= 2 * length) ?? ['seconds', 1_000];
  return `${Math.floor(delayMs / length).toLocaleString('en')} ${unit}`;
}
