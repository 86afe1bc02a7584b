import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import {
  countText,
  durationText,
  type EventRow,
  type ExplainedEvent,
  eventNamed,
  explainEvent,
  type OperateContext,
  type RecordedAction,
  redactedBody,
  type WaitingCustomer,
} from 'instep-operate';
import { LinkCustomerForm, SingleForm } from '../actions/action-form.tsx';
import { ActionSummary, actionsOf } from '../actions/action-summary.tsx';
import { OutcomeBadge, StatusBadge } from '../components/badges.tsx';
import { StripeId } from '../components/id.tsx';
import { Pager } from '../components/list.tsx';
import { type Fact, Facts, Panel } from '../components/panels.tsx';
import { differingFields, PlanStep, shortPlan } from '../components/plan-step.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { CustomerFact, eventUrl, ReasonText, TeamLink } from '../links.tsx';
import { Page } from '../page.tsx';
import { notFound, operatorsOnly } from '../problems.tsx';
import { queryNumber } from '../query-parameters.ts';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { readWaiting } from '../teams/search.ts';

/** `/events/:position`: an event's outcome with the reason, its content, and a replay. */
export function eventPage(options: OperateContext): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();

  async function readEvent(context: Context): Promise<EventRow> {
    const position = queryNumber(context.req.param('position'));
    const event = position === null ? null : await eventNamed(options, String(position));
    if (event === null) {
      throw notFound('There is no event with this number. It may have been pruned from the log.');
    }
    return event;
  }

  app.get('/:position', async (context) => {
    const event = await readEvent(context);
    const explained = await explainEvent(options, event);
    context.set('mode', explained.mode ?? options.keyMode);
    const acted = await actionsOf(options, context.req.query('done'));
    const body = canAct(context.var) ? event.body : bodyForViewers(event, options.nonce());
    const waiting =
      event.customerId !== null && explained.teams.length === 0
        ? await readWaiting(options, event.customerId, canAct(context.var))
        : undefined;
    return context.render(<EventPage {...{ event, explained, waiting, acted, body }} />);
  });

  app.get('/:position/body', async (context) => {
    if (!canAct(context.var)) throw operatorsOnly();
    const { body, position } = await readEvent(context);
    return context.body(new Uint8Array(body), 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="event-${position}.json"`,
    });
  });

  return app;
}

type EventPageProps = {
  readonly event: EventRow;
  readonly explained: ExplainedEvent;
  readonly waiting: WaitingCustomer | undefined;
  readonly acted: readonly RecordedAction[];
  /** `null`: not for this person. */
  readonly body: Uint8Array | null;
};

/** Without personal data. An unreadable body can have it anywhere. */
const bodyForViewers = (event: EventRow, key: string) =>
  event.outcome === 'unreadable' ? null : redactedBody(event, key);

function EventPage({ event, explained, waiting, acted, body }: EventPageProps) {
  const { position, eventId, customerId, outcome } = event;
  const back = eventUrl(position);
  const subject = { kind: 'event', id: String(position) } as const;
  const [first, ...remarks] = explained.reasons;
  const { plans, teams, previous, next } = explained;
  const neighbor = (beside: number | null, which: string) =>
    beside !== null && { href: eventUrl(beside), text: `${which} event of the customer` };
  const teamlessCustomer = first?.code === 'no-team' ? customerId : null;
  return (
    <Page
      title={`Event ${eventId ?? position}`}
      heading={html`Event ${<UntrustedText text={eventId ?? `${position}`} maxLength={80} />}`}
      area="Events"
    >
      <ActionSummary {...{ actions: acted, back }} />
      <Panel title="Decision" id="decision">
        <p class="lead">
          <OutcomeBadge outcome={outcome} /> {first && <ReasonText reason={first} />}
        </p>
        {first?.code === 'unreadable' && (
          <p>Upgrade Instep and replay the event. If that does not help, report the problem.</p>
        )}
        {remarks.map((remark) => (
          <p>
            <ReasonText reason={remark} />
          </p>
        ))}
        {plans !== null && differingFields(plans.before, plans.after).length > 0 && (
          <p>
            Plan: <PlanStep {...plans} />
          </p>
        )}
        {teams.map((team) => (
          <p>
            Now: <TeamLink id={team.id} team={team} /> has{' '}
            <UntrustedText text={shortPlan(team.plan)} />.
          </p>
        ))}
        {teamlessCustomer !== null && (
          <LinkCustomerForm customerId={teamlessCustomer} {...{ waiting, back }} />
        )}
        {['parked', 'unreadable'].includes(outcome) && teamlessCustomer === null && (
          <SingleForm action="replay" {...{ back, subject }}>
            <p class="quiet">Replay processes this event again.</p>
          </SingleForm>
        )}
      </Panel>
      <Pager previous={neighbor(previous, 'Previous')} next={neighbor(next, 'Next')} />
      <Panel title="Facts" id="facts">
        <Facts facts={factsOf(event, explained)} />
      </Panel>
      <Panel title="Payload" id="payload">
        <details>
          <summary>All {countText(event.body.byteLength)} bytes</summary>
          <p class="quiet">
            {canAct()
              ? html`May contain personal data. <a href="${back}/body" download>Download the original</a>`
              : 'Only operators see personal data.'}
          </p>
          {body !== null && <Payload body={body} />}
        </details>
      </Panel>
    </Page>
  );
}

function factsOf(event: EventRow, explained: ExplainedEvent): readonly Fact[] {
  const { teams, parsed: change } = explained;
  const { eventId, type, customerId, subscriptionId, createdAtMs, receivedAtMs } = event;
  const subscription = change?.subscription ?? null;
  return [
    ['Id', <StripeId text={eventId} />],
    ['Type', type],
    [
      'Team',
      teams.length === 0 ? 'none now' : teams.map((team) => <TeamLink id={team.id} team={team} />),
    ],
    ['Customer', <CustomerFact customerId={customerId} />],
    ['Subscription', <StripeId text={subscriptionId} />],
    ['Status', subscription ? <StatusBadge status={subscription.status} /> : 'unknown'],
    ['Product', <StripeId text={subscription?.productId ?? null} />],
    ['Created at Stripe', createdAtMs === null ? 'unknown' : <Time ms={createdAtMs} />],
    ['Received', <Time ms={receivedAtMs} />],
    ['Delay', createdAtMs === null ? 'unknown' : delayText(receivedAtMs - createdAtMs)],
    ['Deliveries', countText(event.deliveries)],
    ['Number in the log', `${event.position}, in the order of arrival`],
  ];
}

/** Stripe's times are whole seconds, and clocks differ. */
function delayText(delayMs: number): string {
  return delayMs < 0 ? "none: Stripe's clock is ahead" : durationText(delayMs);
}

/** More than an event of Stripe has, and few enough for a browser, in characters. */
const MAX_SHOWN = 100_000;

/** The body of an event, indented. Only the download has very large numbers exactly. */
function Payload({ body }: { readonly body: Uint8Array }) {
  const text = indented(new TextDecoder().decode(body));
  return (
    <>
      <pre>
        <UntrustedText text={text} maxLength={MAX_SHOWN} />
      </pre>
      {text.length > MAX_SHOWN && <p class="quiet">The rest is in the download.</p>}
    </>
  );
}

/** As it was sent if it is not JSON, or too deep to be shown. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
