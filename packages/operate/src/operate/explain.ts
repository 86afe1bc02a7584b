// Explains why a team has its plan (`explainTeam`) and why an event has its outcome (`explainEvent`), as codes and
// data. The console's pages of a team and of an event call it, `instep team show` and `instep events show`.

import { type EventRow, parseLogged, readEvents } from 'instep-engine/log';
import {
  type ApplicationId,
  type ApplicationTables,
  PLAN_CHANGE_COLUMNS,
  type PlanChange,
  type Query,
  readStates,
  type StoredStates,
} from 'instep-engine/postgres';
import { readIsCompared } from 'instep-engine/repair';
import {
  type CustomerState,
  type EventSubscription,
  effectOf,
  isPlanOf,
  type Plan,
  type PlanInRow,
  type PlanSelection,
  partOf,
  planWriterOf,
  type Reported,
  type SubscriptionEvent,
  selectedReport,
  teamPlan,
} from 'instep-engine/rule';
import { type EventOrigin, originOfBody } from 'instep-engine/stripe';
import { type Reason, readHistory } from '../event-log/reasons.ts';
import { type OpenIssue, readIssuesOf } from '../issues/find-issues.ts';
import type { PageRequest } from '../runtime/pages.ts';
import { type NamedTeam, readNamedTeamsOf, readTeam } from '../teams/named-teams.ts';
import type { OperateContext } from './context.ts';
import { findActions, type RecordedAction } from './find-actions.ts';
import { type PlanStep, readTimeline, type Timeline } from './timeline.ts';

/** A team, why it has its plan, and the newest events of its customer. */
export type ExplainedTeam = {
  readonly team: NamedTeam;
  readonly status: TeamStatus;
  /** Those of its customer, the newest deciding event first. */
  readonly subscriptions: readonly TeamSubscription[];
  /** The known names of their products, by id. */
  readonly productNames: StoredStates['names'];
  /** What happened to it: the newest part, or the one that was asked for. */
  readonly timeline: Timeline;
  /** What is wrong with it or with its customer, the most severe first. */
  readonly issues: readonly OpenIssue[];
  /** Whether Stripe has answered about its customer since it was linked. */
  readonly isCompared: boolean;
  /** With which an operator has hidden what is wrong with it; `null`: none has. */
  readonly dismissal: RecordedAction | null;
};

/** A subscription of a team's customer, as the event says that decides for it. */
export type TeamSubscription = {
  readonly subscription: EventSubscription;
  /** Its status by its latest event, which can have no effect, and since when it has it. */
  readonly status: string;
  readonly sinceMs: number;
  /** `ambiguous`: several events of one second leave open which came last. */
  readonly order: 'known' | 'ambiguous';
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
  | { readonly kind: 'has plan' | 'lost plan'; readonly deciding: TeamSubscription }
  /** The row differs from its events: a person or the application has written it. */
  | { readonly kind: 'changed by hand'; readonly shouldBe: PlanInRow };

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
  request: PageRequest<string> = {},
): Promise<ExplainedTeam | null> {
  const { planSelection } = context;
  const { query } = context.database;
  const team = await readTeam(context, teamId);
  if (team === null) return null;
  const { customerId } = team;
  const [timeline, states, { open, dismissedBy }, isCompared] = await Promise.all([
    readTimeline(context, team, request),
    readStates(query, customerId === null ? [] : [customerId]),
    readIssuesOf(context, team),
    readIsCompared(query, customerId),
  ]);
  const state = states.of(customerId);
  const subscriptions = subscriptionsOf(customerId ?? '', state, planSelection);
  const { names } = states;
  const shouldBe = teamPlan(state, planSelection, names);
  return {
    ...{ team, subscriptions, productNames: names, timeline, issues: open, isCompared },
    status: statusOf(team, state, shouldBe, subscriptions),
    dismissal: dismissedBy === null ? null : await readAction(context, dismissedBy),
  };
}

async function readAction(context: OperateContext, id: number): Promise<RecordedAction | null> {
  const { rows } = await findActions(context, { ids: [id] }).page({ limit: 1 });
  return rows[0] ?? null;
}

/** Those that an event decides, the newest event first. */
function subscriptionsOf(
  customerId: string,
  state: CustomerState,
  planSelection: PlanSelection,
): TeamSubscription[] {
  const selected = selectedReport(state, planSelection);
  return [...state.subscriptions.values()]
    .flatMap(({ deciding, latest }): TeamSubscription[] => {
      if (deciding === null) return [];
      const subscription = reportedSubscription(customerId, deciding.reported);
      const order = deciding.isAmbiguous ? 'ambiguous' : 'known';
      const isDeciding = deciding.reported === selected;
      const { status } = latest.reported;
      return [{ subscription, status, sinceMs: latest.sinceSeconds * 1_000, order, isDeciding }];
    })
    .sort((a, b) => b.subscription.createdSeconds - a.subscription.createdSeconds);
}

function reportedSubscription(
  customerId: string,
  { createdSeconds, status, plan }: Reported,
): EventSubscription {
  const { providerSubscriptionId: subscriptionId, providerProductId: productId, planName } = plan;
  return { customerId, subscriptionId, status, productId, planName, createdSeconds };
}

function statusOf(
  team: NamedTeam,
  state: CustomerState,
  shouldBe: Plan | null,
  subscriptions: readonly TeamSubscription[],
): TeamStatus {
  if (planWriterOf(team.plan, state) === 'app') return { kind: 'app' };
  if (team.customerId === null) return { kind: 'unlinked' };
  const deciding = subscriptions.find(({ isDeciding }) => isDeciding);
  if (deciding === undefined || shouldBe === null) {
    const [last] = [...state.subscriptions.values()]
      .map(({ latest }) => latest.reported)
      .sort((a, b) => b.createdSeconds - a.createdSeconds);
    return last === undefined
      ? { kind: 'no events' }
      : { kind: 'no effect', last: reportedSubscription(team.customerId, last) };
  }
  // The name can arrive later, or be the application's own.
  const { planName = null } = team.plan;
  if (!isPlanOf(team.plan, { ...shouldBe, planName })) {
    return { kind: 'changed by hand', shouldBe: partOf(shouldBe, team.plan) };
  }
  const isGranted = effectOf(deciding.subscription.status) === 'grants';
  return { kind: isGranted ? 'has plan' : 'lost plan', deciding };
}

export type ExplainedEvent = {
  readonly reasons: readonly Reason[];
  /** What it changed of the plan of its customer's teams; `null`: nothing, or the change was pruned. */
  readonly plans: PlanStep | null;
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
 * Explains why an event has its outcome, from the log before it: the reasons as codes, and what it changed of plans. The
 * events beside it are those of its customer.
 *
 * @example
 * ```ts
 * const event = await eventNamed(context, 'evt_123');
 * const explained = event && (await explainEvent(context, event));
 * console.log(explained?.reasons[0]?.code); // undefined
 * ```
 */
export async function explainEvent(
  { database: { query }, planSelection }: OperateContext,
  event: EventRow,
): Promise<ExplainedEvent> {
  const { customerId, position } = event;
  const teams = customerId === null ? [] : await readNamedTeamsOf(query, [customerId]);
  const range = { planSelection, teams, positions: [position] };
  const { log, explain } = await readHistory(query, customerId, range);
  const later = { after: position, upTo: Number.MAX_SAFE_INTEGER };
  const first = { order: 'oldest first', limit: 1 } as const;
  const [next] = customerId === null ? [] : await readEvents(query, { customerId }, later, first);
  return {
    reasons: explain(event),
    plans: await readChangeBy(query, event, teams),
    parsed: parseLogged(event),
    previous: log.findLast((one) => one.position < position)?.position ?? null,
    next: next?.position ?? null,
    teams,
    mode: originOfBody(event.body).mode,
  };
}

const READ_CHANGE_BY = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where team_id = any ($1::text[])
         and event_key = $2
       order by id desc
       limit 1`;

/** The change that an event made of its customer's teams; `null`: none, or it was pruned. */
async function readChangeBy(
  query: Query,
  { key }: EventRow,
  teams: readonly NamedTeam[],
): Promise<PlanStep | null> {
  const values = [teams.map(({ id }) => String(id)), key];
  const statement = { name: 'read_change_by', text: READ_CHANGE_BY, values };
  const [change] = await query<PlanChange>(statement);
  return change === undefined ? null : { before: change.before, after: change.after };
}
