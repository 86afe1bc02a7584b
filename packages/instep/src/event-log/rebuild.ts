// Computes teams again from the whole event log, and repairs what differs. The task of `instep rebuild` in
// operate/perform.ts calls it.

import type { ApplicationId } from '../core/application.ts';
import { EventHistory } from '../core/event-history.ts';
import {
  type LatestState,
  type LatestStates,
  latestStateOf,
  NO_LATEST_STATES,
} from '../core/latest-state.ts';
import { decidingEventsOf } from '../core/ordering-rule.ts';
import {
  changedDecidingEvents,
  type DecidingEvents,
  NO_DECIDING_EVENTS,
  type PlanSelection,
  planWriterOf,
  teamPlan,
} from '../core/plan-selection.ts';
import { isSameState, type ParsedEvent } from '../core/subscription-event.ts';
import { hasPlan, isSamePlan, NO_PLAN, type TeamPlan } from '../core/transition.ts';
import type { Database, Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { type Examined, pagesOf } from '../postgres/examine.ts';
import { storeDoubleBilled } from '../postgres/statements/double-billing.ts';
import { readEventsOfCustomer } from '../postgres/statements/events.ts';
import { readDismissals } from '../postgres/statements/issues.ts';
import { lockTeams } from '../postgres/statements/lock-teams.ts';
import type { ActingOperator } from '../postgres/statements/plan-changes.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import { readSubscriptions, writeSubscriptions } from '../postgres/statements/subscriptions.ts';
import {
  type LinkedTeam,
  readLinkedTeams,
  readTeam,
  type Team,
  writePlansThatFit,
} from '../postgres/statements/teams.ts';
import { parseLog } from './explain.ts';
import { readPrunedBefore } from './prune.ts';

type RebuildOptions = {
  planSelection: PlanSelection;
  teamId?: ApplicationId | undefined;
  isDryRun: boolean;
  /** The operator who asked for it, for the history of changes. */
  operator?: ActingOperator | null;
  onFailure?: (failure: RebuildFailure) => void;
};

/** The database refused a plan, or another transaction has locked a team, or one has events that hit a bug. */
export type RebuildFailure = { readonly customerId: string; readonly error: Error };

/** What a team has and what its events yield, or stored states that differ from the events. */
export type Difference = {
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly is: TeamPlan;
  readonly shouldBe: TeamPlan;
  /** Whether the row is kept, because the application wrote it and Stripe was not asked. */
  readonly isKept: boolean;
  /** The subscriptions whose stored state differs from the log. */
  readonly subscriptionIds: readonly (string | null)[];
};

const PAGE = 500;

/**
 * Replays the whole event log, team by team, and yields and repairs every difference. Each team is locked meanwhile,
 * so it can run at any time. One that can't be repaired delays no other. Rows that differ from what Instep last
 * wrote, such as a plan without any event, are reported and kept: only Stripe can tell whether they are right. Plans
 * that the application gave away are not even reported.
 */
export async function* rebuild(
  database: Database,
  options: RebuildOptions,
): AsyncGenerator<Difference> {
  const read = (afterId: ApplicationId | null) => readTeams(database.query, afterId, options);
  for await (const teams of pagesOf(read)) {
    for (const { customerId } of teams) {
      if (customerId === null) continue;
      try {
        yield* await database.transaction((query) => rebuildCustomer(query, customerId, options));
      } catch (error) {
        if (options.onFailure === undefined || !canOthersSucceed(error)) throw error;
        options.onFailure({ customerId, error });
      }
    }
  }
}

async function readTeams(
  query: Query,
  afterId: ApplicationId | null,
  { teamId }: RebuildOptions,
): Promise<Examined<Team>> {
  if (teamId === undefined) return await readLinkedTeams(query, { afterId, limit: PAGE });
  const team = await readTeam(query, teamId);
  return { found: team === null ? [] : [team], examinedTo: null };
}

async function rebuildCustomer(
  query: Query,
  customerId: string,
  { planSelection, isDryRun, operator = null }: RebuildOptions,
): Promise<Difference[]> {
  const teams = await lockTeams(query, [customerId]);
  const log = parseLog(await readEventsOfCustomer(query, customerId));
  const events = log.map(({ parsed }) => parsed);
  const decidingEvents = decidingEventsOf(events, planSelection);
  const stored = await readSubscriptions(query, [customerId]);
  const known = stored.latestStates.get(customerId) ?? NO_LATEST_STATES;
  const latestStates = differingLatestStates(
    events,
    decidingEvents,
    known,
    await readPrunedBefore(query),
  );
  if (!isDryRun && latestStates.length > 0) {
    await writeSubscriptions(query, [], latestStates);
    await storeDoubleBilled(query, [customerId]);
  }
  const before = stored.decidingEvents.get(customerId) ?? NO_DECIDING_EVENTS;
  const productIds = [...decidingEvents.values()].flatMap(
    ({ subscription }) => subscription.productId ?? [],
  );
  const names = new Map([...stored.names, ...(await readProductNames(query, productIds))]);
  const plan = teamPlan(decidingEvents, planSelection, names);
  const changed = changedDecidingEvents(decidingEvents, before);
  const dismissable = teams.map((team) => {
    return { teamId: team.id, plan: team.plan, shouldBe: plan };
  });
  const dismissals = await readDismissals(query, dismissable);
  const isGivenAway = (team: LinkedTeam) =>
    [before, decidingEvents].every((known) => planWriterOf(team.plan, known) === 'app');
  const isKept = (team: LinkedTeam) =>
    dismissals.has(String(team.id)) || planWriterOf(team.plan, before) !== 'instep';
  const subscriptionIds = new Set([
    ...changed.map(({ subscription }) => subscription.subscriptionId),
    ...latestStates.map(({ subscription }) => subscription.subscriptionId),
  ]);
  const differences = teams.flatMap((team) => {
    if (isGivenAway(team)) return difference(team, team.plan, [...subscriptionIds], true);
    if (plan !== null) return difference(team, plan, [...subscriptionIds], isKept(team));
    return hasPlan(team.plan) ? difference(team, NO_PLAN, [], true) : [];
  });
  if (!isDryRun && differences.length > 0) {
    if (changed.length > 0) await writeSubscriptions(query, changed, []);
    const changedBy = { cause: 'rebuild', operator } as const;
    const writes = teams.flatMap((team) =>
      plan === null || isKept(team) ? [] : [{ team, shouldBe: plan, changedBy }],
    );
    if (writes.length > 0) await writePlansThatFit(query, writes);
  }
  return differences;
}

function difference(
  team: LinkedTeam,
  shouldBe: TeamPlan,
  subscriptionIds: readonly (string | null)[],
  isKept: boolean,
): Difference[] {
  const { id: teamId, customerId, plan: is } = team;
  if (isSamePlan(is, shouldBe) && subscriptionIds.length === 0) return [];
  const isRowKept = isKept && !isSamePlan(is, shouldBe);
  return [{ teamId, customerId, is, shouldBe, isKept: isRowKept, subscriptionIds }];
}

/**
 * The latest states that a customer's decided events yield and that differ from the stored ones. Events received before
 * `prunedBeforeMs` may have been pruned; `null`: none were. Pure.
 */
function differingLatestStates(
  events: readonly ParsedEvent[],
  decidingEvents: DecidingEvents,
  stored: LatestStates,
  prunedBeforeMs: number | null,
): LatestState[] {
  const history = new EventHistory(events);
  const subscriptions = new Map(
    events.map(({ subscription }) => [subscription.subscriptionId, subscription]),
  );
  return [...subscriptions].flatMap(([subscriptionId, subscription]) => {
    const deciding = decidingEvents.get(subscriptionId)?.subscription ?? null;
    const known = stored.get(subscriptionId);
    const evidence = { history, deciding, stored: known };
    const state = latestStateOf(history.eventsOf(subscription), evidence);
    if (known === undefined || known.subscription.status !== state.subscription.status)
      return [state];
    // The event that the status followed can have been pruned, and an older one not.
    const canBePruned = prunedBeforeMs !== null && state.sinceSeconds * 1_000 < prunedBeforeMs;
    const sinceSeconds = canBePruned
      ? Math.max(state.sinceSeconds, known.sinceSeconds)
      : state.sinceSeconds;
    const isSame =
      isSameState(state.subscription, known.subscription) && sinceSeconds === known.sinceSeconds;
    return isSame ? [] : [{ ...state, sinceSeconds }];
  });
}
