// Computes teams again from the whole event log, and repairs what differs. The task of `instep rebuild` in
// operate/perform.ts calls it.

import { parseLogged } from '../log/parse-logged.ts';
import type { Settle } from '../log/pipeline.ts';
import type { ApplicationId } from '../postgres/application.ts';
import type { Database, Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { type Examined, pagesOf } from '../postgres/examine.ts';
import { writeCurrentPlan } from '../postgres/statements/current-plan.ts';
import { readProductNames } from '../postgres/statements/products.ts';
import {
  type LinkedTeam,
  lockTeam,
  readLinkedTeams,
  readTeam,
  readTeamsOf,
  type Team,
} from '../postgres/statements/teams.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import { hasPlan, isPlanOf, isSamePlan, NO_PLAN } from '../rule/plan.ts';
import type { ActingOperator } from '../rule/plan-change.ts';
import { type PlanInRow, partOf } from '../rule/plan-fields.ts';
import { type PlanSelection, teamPlan } from '../rule/plan-selection.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import { readPrunedBefore } from './prune.ts';
import { rebuildState } from './rebuild-state.ts';

type RebuildOptions = {
  planSelection: PlanSelection;
  settle: Settle;
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
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
  /** Whether the row is kept, because the application wrote it and Stripe was not asked. */
  readonly isKept: boolean;
  /** The subscriptions whose stored state differs from the log. */
  readonly subscriptionIds: readonly (string | null)[];
};

const DEADLINE_MS = 10_000;

/**
 * Replays the whole event log, team by team, and yields and repairs every difference. It can run at any time: a state is
 * only replaced if no event was ingested meanwhile. One that can't be repaired delays no other. Rows that differ from what
 * Instep last wrote, such as a plan without any event, are reported and kept: only Stripe can tell whether they are right.
 * Plans that the application gave away are not even reported.
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
        yield* await rebuildCustomer(database, customerId, options);
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
  if (teamId === undefined) return await readLinkedTeams(query, afterId);
  const team = await readTeam(query, teamId);
  return { found: team === null ? [] : [team], examinedTo: null };
}

async function rebuildCustomer(
  database: Database,
  customerId: string,
  { planSelection, settle, isDryRun, operator = null }: RebuildOptions,
): Promise<Difference[]> {
  const { query } = database;
  const { stored, fromLog, subscriptionIds } = await rebuildState(customerId, {
    ...{ database, planSelection, isDryRun, parse: parseLogged, deadlineMs: DEADLINE_MS },
    prunedBeforeMs: await readPrunedBefore(query),
  });
  if (!isDryRun && subscriptionIds.length > 0) await settle(customerId);
  const teams = await readTeamsOf(query, [customerId]);
  const names = await readProductNames(query, productsOf(fromLog));
  const plan = teamPlan(fromLog, planSelection, names);
  const isGivenAway = (team: LinkedTeam) =>
    [stored, fromLog].every((state) => planWriterOf(team.plan, state) === 'app');
  const isKept = (team: LinkedTeam) => planWriterOf(team.plan, stored) !== 'instep';
  const differences = teams.flatMap((team) => {
    if (isGivenAway(team)) return difference(team, team.plan, subscriptionIds, true);
    if (plan !== null) {
      const shouldBe = isPlanOf(team.plan, plan) ? team.plan : partOf(plan, team.plan);
      return difference(team, shouldBe, subscriptionIds, isKept(team));
    }
    return hasPlan(team.plan) ? difference(team, partOf(NO_PLAN, team.plan), [], true) : [];
  });
  if (!isDryRun && plan !== null) {
    for (const team of teams) {
      if (isKept(team) || isPlanOf(team.plan, plan)) continue;
      await database.transaction(async (query) => {
        const locked = await lockTeam(query, team.id, 'no key update');
        if (locked?.customerId !== customerId || !isSamePlan(locked.plan, team.plan)) return;
        const writing = { planSelection, operator, isForced: true, cause: 'rebuild' } as const;
        await writeCurrentPlan(query, locked, writing);
      });
    }
  }
  return differences;
}

function productsOf({ subscriptions }: CustomerState): string[] {
  return [...subscriptions.values()].flatMap(
    ({ deciding }) => deciding?.reported.plan.providerProductId ?? [],
  );
}

function difference(
  team: LinkedTeam,
  shouldBe: PlanInRow,
  subscriptionIds: readonly (string | null)[],
  isKept: boolean,
): Difference[] {
  const { id: teamId, customerId, plan: is } = team;
  if (isSamePlan(is, shouldBe) && subscriptionIds.length === 0) return [];
  const isRowKept = isKept && !isSamePlan(is, shouldBe);
  return [{ teamId, customerId, is, shouldBe, isKept: isRowKept, subscriptionIds }];
}
