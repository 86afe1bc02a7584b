// Explains why a team has its plan (`explainTeam`) and why an event has its outcome (`explainEvent`), as codes and
// data. The console's pages of a team and of an event call it, `instep team show` and `instep events show`.

import { type EventRow, readEvents } from 'instep-engine/log';
import {
  type ApplicationId,
  type ApplicationTables,
  onlyRow,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
  type Query,
  readStates,
  type StoredStates,
} from 'instep-engine/postgres';
import { readIsCompared, readPrunedBefore } from 'instep-engine/repair';
import {
  type CustomerState,
  type EventSubscription,
  effectOf,
  isPlanOf,
  isSamePlan,
  type PlanInRow,
  type PlanSelection,
  partOf,
  planWriterOf,
  type SubscriptionEvent,
  selectedReport,
  teamPlan,
} from 'instep-engine/rule';
import { type EventOrigin, originOfBody } from 'instep-engine/stripe';
import { type Explanation, explainLog, type PlanStep, parseLog } from '../event-log/explain.ts';
import { type Dismissal, readDismissalOf, readNewestDismissal } from '../issues/dismissals.ts';
import { type NamedTeam, readNamedTeam, readNamedTeamsOf } from '../teams/named-teams.ts';
import type { OperateContext } from './context.ts';
import { type ComparisonIssue, readIssueOf } from './find-issues.ts';
import {
  EVENTS_AROUND,
  readNames,
  readTimelineOf,
  type Timeline,
  type TimelineRequest,
} from './timeline.ts';

/** A team, why it has its plan, and the newest events of its customer. */
export type ExplainedTeam = {
  readonly team: NamedTeam;
  readonly planSelection: PlanSelection;
  readonly status: TeamStatus;
  readonly notes: readonly TeamNote[];
  /** Those of its customer, the newest deciding event first. */
  readonly subscriptions: readonly TeamSubscription[];
  /** The known names of their products, by id. */
  readonly productNames: StoredStates['names'];
  /** The newest part of what happened to it. */
  readonly timeline: Timeline;
  /** What the last comparison found, if that still holds; `null`: nothing. */
  readonly issue: ComparisonIssue | null;
  /** Whether Stripe has answered about its customer since it was linked. */
  readonly isCompared: boolean;
  /** Whether an operator has hidden what is wrong with it; `null`: none has. */
  readonly dismissal: Dismissal | null;
  /** The newest dismissal of the team, even if it was taken back; `null`: there is none. */
  readonly dismissalId: number | null;
};

/** The event that decides for a subscription, as people see it. */
export type DecidingEvent = {
  readonly subscription: EventSubscription;
  /** `ambiguous`: several events of one second leave open which came last. */
  readonly order: 'known' | 'ambiguous';
};

/** A subscription of a team's customer. */
export type TeamSubscription = DecidingEvent & {
  /** Whether it decides the team's plan. */
  readonly isDeciding: boolean;
};

/** Why a team has a plan, or has none. */
export type TeamStatus =
  /** The team has no customer. */
  | { readonly kind: 'unlinked' }
  /** The application gave it the plan, without a subscription. */
  | { readonly kind: 'app' }
  /** No event of its customer has been received. */
  | { readonly kind: 'no events' }
  /** None of the events had an effect. */
  | { readonly kind: 'no effect'; readonly last: EventSubscription }
  | ({ readonly kind: 'has plan' } & Decided)
  | ({ readonly kind: 'lost plan' } & Decided)
  /** The row differs from its events: a person or the application has written it. */
  | { readonly kind: 'changed by hand'; readonly shouldBe: PlanInRow };

type Decided = { readonly deciding: EventSubscription; readonly since: Since };

/** Since when the customer has had its plan, or none, by Stripe's clock. */
export type Since = {
  /** In seconds since 1970. If it is not exact, the change can be older. */
  readonly seconds: number;
  readonly isExact: boolean;
};

/** An additional explanation of a team's plan. */
export type TeamNote =
  /** Other subscriptions would grant a plan. */
  | { readonly kind: 'other live'; readonly newest: EventSubscription; readonly count: number }
  /** The order of events in one second is not known yet. */
  | { readonly kind: 'unknown order'; readonly subscription: EventSubscription }
  /** The newest event of all has no effect. */
  | { readonly kind: 'newest without effect'; readonly newest: EventSubscription }
  | { readonly kind: 'unnamed product'; readonly productId: string }
  /** Events arrived before the team had this customer, and are not applied yet. */
  | { readonly kind: 'parked'; readonly count: number };

/** How much of the timeline to read. */
export type ExplainTeamRequest = Pick<TimelineRequest, 'limit'>;

/**
 * Explains why a team has its plan or none; `null` when there is no such team.
 *
 * @example
 * ```ts
 * const explained = await explainTeam(context, 7);
 * console.log(explained?.status.kind); // undefined
 * ```
 */
export async function explainTeam(
  context: OperateContext,
  teamId: ApplicationId,
  request: ExplainTeamRequest = {},
): Promise<ExplainedTeam | null> {
  const { planSelection } = context;
  const { query } = context.database;
  const team = await readNamedTeam(query, teamId);
  if (team === null) return null;
  const { id, customerId } = team;
  const customerIds = customerId === null ? [] : [customerId];
  const [timeline, states, issue, isCompared, dismissal, dismissalId, changed, parked] =
    await Promise.all([
      readTimelineOf(query, team, { planSelection, ...request }),
      readStates(query, customerIds),
      readIssueOf(context, team),
      readIsCompared(query, customerId),
      readDismissalOf(query, id),
      readNewestDismissal(query, `team:${id}`),
      readEntitlementChange(query, team),
      countParked(query, customerId),
    ]);
  const state = states.of(customerId);
  const selected = selectedReport(state, planSelection);
  const subscriptions = decidingEventsOf(customerId ?? '', state)
    .map((event) => {
      const { subscriptionId } = event.subscription;
      return { ...event, isDeciding: subscriptionId === selected?.plan.providerSubscriptionId };
    })
    .sort((a, b) => b.subscription.createdSeconds - a.subscription.createdSeconds);
  const deciding = subscriptions.find(({ isDeciding }) => isDeciding)?.subscription ?? null;
  const { names } = states;
  const record = { team, state, names, subscriptions, planSelection, changed, parked };
  return {
    ...{ team, planSelection, timeline, issue, isCompared, dismissal, dismissalId },
    status: statusOf(record, deciding),
    notes: [...notesOn(record, deciding)],
    subscriptions,
    productNames: names,
  };
}

/** The deciding event of each subscription that has one. */
function decidingEventsOf(customerId: string, { subscriptions }: CustomerState): DecidingEvent[] {
  return [...subscriptions].flatMap(([subscriptionId, { deciding }]) => {
    if (deciding === null) return [];
    const { createdSeconds, status, plan } = deciding.reported;
    const { providerProductId: productId, planName } = plan;
    return {
      subscription: { customerId, subscriptionId, status, productId, planName, createdSeconds },
      order: deciding.isAmbiguous ? 'ambiguous' : 'known',
    };
  });
}

/** Everything that is stored about a team. */
type TeamRecord = {
  readonly team: NamedTeam;
  readonly state: CustomerState;
  /** The names of products. */
  readonly names: StoredStates['names'];
  /** When the event was created by which it last got or lost a subscription or a product; `null`: not by a known event. */
  readonly changed: number | null;
  /** How many of its customer's events wait to be applied. */
  readonly parked: number;
  readonly subscriptions: readonly TeamSubscription[];
  readonly planSelection: PlanSelection;
};

function statusOf(
  { team, state, names, planSelection, changed }: TeamRecord,
  deciding: EventSubscription | null,
): TeamStatus {
  if (planWriterOf(team.plan, state) === 'app') return { kind: 'app' };
  if (team.customerId === null) return { kind: 'unlinked' };
  const shouldBe = teamPlan(state, planSelection, names);
  if (deciding === null || shouldBe === null) {
    const last = newestOf(team.customerId, state);
    return last === null ? { kind: 'no events' } : { kind: 'no effect', last };
  }
  // The name can arrive later, or be the application's own.
  const { planName = null } = team.plan;
  if (!isPlanOf(team.plan, { ...shouldBe, planName })) {
    return { kind: 'changed by hand', shouldBe: partOf(shouldBe, team.plan) };
  }
  const kind = effectOf(deciding.status) === 'grants' ? 'has plan' : 'lost plan';
  const since = { seconds: changed ?? deciding.createdSeconds, isExact: changed !== null };
  return { kind, deciding, since };
}

function* notesOn(
  { team, state, subscriptions, parked }: TeamRecord,
  deciding: EventSubscription | null,
): Generator<TeamNote> {
  for (const { order, subscription } of subscriptions) {
    if (order === 'ambiguous') yield { kind: 'unknown order', subscription };
  }
  const otherLive = subscriptions.filter(
    ({ isDeciding, subscription }) => !isDeciding && effectOf(subscription.status) === 'grants',
  );
  if (otherLive[0] !== undefined) {
    yield { kind: 'other live', newest: otherLive[0].subscription, count: otherLive.length };
  }
  const newest = newestOf(team.customerId, state);
  if (newest !== null && deciding !== null && effectOf(newest.status) === 'none') {
    yield { kind: 'newest without effect', newest };
  }
  const { providerProductId: productId, planName } = team.plan;
  if (productId && planName === null) yield { kind: 'unnamed product', productId };
  if (parked > 0) yield { kind: 'parked', count: parked };
}

/** What the customer's newest event says, whether it has an effect or not. */
function newestOf(
  customerId: string | null,
  { subscriptions }: CustomerState,
): EventSubscription | null {
  const [newest] = [...subscriptions.values()]
    .map(({ latest }) => latest.reported)
    .sort((a, b) => b.createdSeconds - a.createdSeconds);
  if (newest === undefined || customerId === null) return null;
  const { createdSeconds, status, plan } = newest;
  const { providerSubscriptionId: subscriptionId, providerProductId: productId, planName } = plan;
  return { customerId, subscriptionId, status, productId, planName, createdSeconds };
}

/** Later changes can have renewed the plan, so it dates from the first one that gave or cleared it. */
async function readEntitlementChange(
  query: Query,
  { id, customerId }: NamedTeam,
): Promise<number | null> {
  const [row] = await query<{ seconds: number | null }>({
    name: 'read_entitlement_change',
    text: `
      select extract(epoch from event_created_at)::bigint as seconds
        from instep.plan_changes
       where team_id = $1
         and customer_id = $2
         and (provider_subscription_id_before, provider_product_id_before)
             is distinct from
             (provider_subscription_id_after, provider_product_id_after)
       order by id desc
       limit 1`,
    values: [String(id), customerId],
  });
  return row?.seconds ?? null;
}

async function countParked(query: Query, customerId: string | null): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(query, {
    name: 'count_parked_of_customer',
    text: `
      select count(*)
        from (
               select
                 from instep.events
                where customer_id = $1
                  and outcome = 'parked'
                limit 100
             ) as parked`,
    values: [customerId],
  });
  return count;
}

export type ExplainedEvent = Explanation & {
  /** The content of the event; `null` when it was unreadable. */
  readonly parsed: SubscriptionEvent | null;
  /** The positions of the customer's events before and after it; `null`: there is none. */
  readonly previous: number | null;
  readonly next: number | null;
  /** The teams that have the event's customer now. */
  readonly teams: readonly NamedTeam[];
  /** The mode in which the event happened, by its body; `null`: unknown. */
  readonly mode: EventOrigin['mode'];
};

/**
 * Explains why an event has its outcome, from the log around it: the reasons as codes, and the plans before
 * and after it. The events beside it are those of its customer.
 *
 * @example
 * ```ts
 * for (const event of await eventsNamed(context, 'evt_123')) {
 *   const { reasons } = await explainEvent(context, event);
 *   console.log(event.outcome, reasons[0]?.code);
 * }
 * ```
 */
export async function explainEvent(
  { database: { query }, planSelection }: OperateContext,
  event: EventRow,
): Promise<ExplainedEvent> {
  const { customerId, position } = event;
  const teams = customerId === null ? [] : await readNamedTeamsOf(query, [customerId]);
  const around = customerId === null ? [] : await readAround(query, customerId, position);
  const log = parseLog(around);
  const names = await readNames(query, log);
  const prunedBeforeMs = await readPrunedBefore(query);
  const explanation = explainLog(log, { planSelection, teams, names, prunedBeforeMs })(event);
  const { reasons, plans: computed } = explanation;
  // Only the outbox says whether the team had its customer's plan then.
  const isChange = computed !== null && !isSamePlan(computed.before, computed.after);
  const plans = isChange ? await readChangeBy(query, event, teams) : computed;
  const parsed = log.find((logged) => logged.event.key === event.key)?.parsed ?? null;
  const previous = around.findLast((one) => one.position < position)?.position ?? null;
  const next = around.find((one) => one.position > position)?.position ?? null;
  return {
    ...{ reasons, plans, parsed, previous, next, teams },
    mode: originOfBody(event.body).mode,
  };
}

const READ_CHANGE_BY = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where team_id = any ($1::text[])
         and cause in ('event', 'snapshot')
         and event_id is not distinct from $2
         and event_created_at = (select created_at from instep.events where position = $3)
       order by id desc
       limit 1`;

/** The change that an event made of its customer's teams; `null`: none, or it was pruned. */
async function readChangeBy(
  query: Query,
  { eventId, position }: EventRow,
  teams: readonly NamedTeam[],
): Promise<PlanStep | null> {
  const values = [teams.map(({ id }) => String(id)), eventId, position];
  const statement = { name: 'read_change_by', text: READ_CHANGE_BY, values };
  const [change] = await query<PlanChange>(statement);
  return change === undefined ? null : { before: change.before, after: change.after };
}

async function readAround(query: Query, customerId: string, position: number): Promise<EventRow[]> {
  const upTo = { after: 0, upTo: position };
  const after = { after: position, upTo: Number.MAX_SAFE_INTEGER };
  const limit = EVENTS_AROUND;
  const earlier = await readEvents(query, { customerId }, upTo, { order: 'newest first', limit });
  const later = await readEvents(query, { customerId }, after, { order: 'oldest first', limit });
  return [...earlier.reverse(), ...later];
}
