import { type Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import { NO_PLAN } from '../../../core/transition.ts';
import { type ExplainedEvent, explainEvent } from '../../../event-log/customer-history.ts';
import { type Replayed, replayEvents } from '../../../event-log/replay.ts';
import { readEventAt } from '../../../event-log/search.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import { reasonText } from '../../reason-text.ts';
import { OutcomeBadge, StatusBadge } from '../components/badges.tsx';
import { Button, PostForm } from '../components/form.tsx';
import { type Fact, Facts, Notice, Panel } from '../components/panels.tsx';
import { type PlanRow, PlanTable } from '../components/plan-table.tsx';
import { countText, numberOf, OptionalText, Time, UntrustedText } from '../components/text.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { notFound } from '../problems.tsx';
import { queryNumber } from '../query-parameters.ts';
import { filterUrl } from './event-filter.ts';
import { eventUrl } from './event-text.tsx';
import { Payload } from './payload.tsx';

/** `/events/:position`: what was decided on an event and why, its content, and a replay. */
export function eventPage({ database, ingest, planSelection }: ConsoleOptions): Hono {
  const { query } = database;
  const app = new Hono();

  async function readEvent(context: Context): Promise<EventRow> {
    const position = queryNumber(context.req.param('position'));
    const event = position === null ? null : await readEventAt(query, position);
    if (event === null) {
      throw notFound('There is no event at this position. It may have been pruned from the log.');
    }
    return event;
  }

  async function show(context: Context, event: EventRow, replayed: Replayed | null) {
    const explained = await explainEvent(query, event, planSelection);
    return context.html(<EventPage event={event} explained={explained} replayed={replayed} />);
  }

  app.get('/:position', async (context) => show(context, await readEvent(context), null));

  app.post('/:position/replay', async (context) => {
    const event = await readEvent(context);
    let last: Replayed | null = null;
    for await (const replayed of replayEvents(only(event), { ingest, query })) last = replayed;
    return show(context, await readEvent(context), last);
  });

  app.get('/:position/body', async (context) => {
    const { body, position } = await readEvent(context);
    return context.body(new Uint8Array(body), 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="event-${position}.json"`,
    });
  });

  return app;
}

async function* only(event: EventRow): AsyncGenerator<EventRow> {
  yield event;
}

type EventPageProps = {
  readonly event: EventRow;
  readonly explained: ExplainedEvent;
  readonly replayed: Replayed | null;
};

function EventPage({ event, explained, replayed }: EventPageProps) {
  const { position, outcome, body } = event;
  const [first = '', ...remarks] = explained.reasons.map(reasonText);
  const plans = planRows(explained);
  return (
    <Page title={`Event at position ${position}`} area="Events">
      {replayed !== null && (
        <Notice kind="done" title="Replayed">
          {resultOf(replayed)}
        </Notice>
      )}
      <Panel title="Decision" id="decision">
        <p class="lead">
          <OutcomeBadge outcome={outcome} /> <UntrustedText text={first} maxLength={600} />
        </p>
        {remarks.map((remark) => (
          <p>
            <UntrustedText text={remark} maxLength={600} />
          </p>
        ))}
        {plans.length > 0 && <PlanTable label="The team's plan" rows={plans} />}
        <PostForm action={`${eventUrl(position)}/replay`}>
          <p class="quiet">
            Processes this event again. Events that were already decided do not change.
          </p>
          <Button>Replay</Button>
        </PostForm>
      </Panel>
      <Panel title="Facts" id="facts">
        <Facts facts={factsOf(event, explained)} />
      </Panel>
      <Panel title="Payload" id="payload">
        <details>
          <summary>Show all {countText(body.byteLength)} bytes</summary>
          <p class="quiet">
            May contain personal data.{' '}
            <a href={`${eventUrl(position)}/body`} download>
              Download the original
            </a>
          </p>
          <Payload body={body} />
        </details>
      </Panel>
    </Page>
  );
}

function resultOf({ outcome, teamIds, error }: Replayed): Child {
  switch (outcome) {
    case 'applied':
      return (
        <>
          The event is now applied to <TeamLinks ids={teamIds} />.
        </>
      );
    case 'stale':
      return 'The event is now stale: a newer one was already applied, so it has no effect.';
    case 'unchanged':
      return 'The event is now decided and has no effect.';
    case 'parked':
      return 'The event is still parked: no team has its customer.';
    case 'unreadable':
      return 'This version of Instep cannot read the event either. Nothing was changed.';
    case 'duplicate':
      return 'The event was already decided. Nothing was changed.';
    case 'left out':
      return "This is a snapshot of Stripe's data at that time. Nothing was changed.";
    case 'failed':
      return (
        <>
          The database refused the event. Nothing was changed:{' '}
          <UntrustedText text={error?.message ?? 'no reason given'} />
        </>
      );
  }
}

function planRows({ plans, teams }: ExplainedEvent): readonly PlanRow[] {
  const before = plans?.before ?? NO_PLAN;
  const after = plans?.after ?? NO_PLAN;
  const decided: readonly PlanRow[] =
    plans === null
      ? []
      : [
          { name: 'Before', plan: before },
          { name: 'After', plan: after, comparedWith: before },
        ];
  const now = teams.map(({ id, plan }) => ({
    name: (
      <>
        Now, <TeamLinks ids={[id]} />
      </>
    ),
    plan,
  }));
  return [...decided, ...now];
}

function TeamLinks({ ids }: { readonly ids: readonly number[] }) {
  return (
    <>
      {ids.map((id, index) => (
        <>
          {index > 0 && ', '}
          <a href={`/teams/${id}`}>team {id}</a>
        </>
      ))}
    </>
  );
}

function factsOf(event: EventRow, { teams, change }: ExplainedEvent): readonly Fact[] {
  const { eventId, type, customerId, subscriptionId, createdAtMs, receivedAtMs } = event;
  const subscription = change?.subscription ?? null;
  const text = (value: string | null) => (
    <OptionalText text={value} fallback="none" maxLength={300} />
  );
  return [
    ['Id', text(eventId)],
    ['Type', type],
    ['Team', teams.length === 0 ? 'none' : <TeamLinks ids={teams.map(({ id }) => id)} />],
    [
      'Customer',
      <>
        {text(customerId)}{' '}
        {customerId && <a href={filterUrl('/events', { customer: customerId })}>all events</a>}
      </>,
    ],
    ['Subscription', text(subscriptionId)],
    ['Status', subscription ? <StatusBadge status={subscription.status} /> : 'unknown'],
    ['Product', text(subscription?.productId ?? null)],
    ['Created at Stripe', createdAtMs === null ? 'unknown' : <Time ms={createdAtMs} />],
    ['Received', <Time ms={receivedAtMs} />],
    ['Delay', createdAtMs === null ? 'unknown' : delayText(receivedAtMs - createdAtMs)],
    ['Deliveries', countText(event.deliveries)],
  ];
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Stripe's times are whole seconds, and clocks differ. */
function delayText(delayMs: number): string {
  if (delayMs < 0) return "none: Stripe's clock is ahead";
  const [unit, length] = UNITS.find(([, length]) => delayMs >= 2 * length) ?? ['second', 1_000];
  return numberOf(Math.floor(delayMs / length), unit);
}
