import { readAccess } from 'instep/src/access/team-access.ts';
import { ambiguousReport, NO_PLAN, type Plan } from 'instep-engine/rule';
import type { ApplicationId } from 'instep-engine/src/postgres/application.ts';
import type { Database, Query } from 'instep-engine/src/postgres/database.ts';
import { readStates } from 'instep-engine/src/postgres/statements/customers.ts';
import { readTeamChanges } from 'instep-engine/src/postgres/statements/plan-changes.ts';
import { readTeamsOf } from 'instep-engine/src/postgres/statements/teams.ts';
import { rebuild } from 'instep-engine/src/repair/rebuild.ts';
import { changeOfRedirect, changesOf } from '../checkout.ts';
import { type Divergence, isSameTeam } from '../divergence.ts';
import {
  type ExpectedAccess,
  expectedAccess,
  expectedTeam,
  isGift,
  type TrueChange,
} from '../expected-team.ts';
import type { Failure } from '../level.ts';
import type { StoreCustomer, StoreWorld } from './store-world.ts';

/**
 * Compares every team of a world with the expected one and with the result of `instep rebuild`. Returns the
 * first customer that diverges.
 */
export async function checkWorld(
  world: StoreWorld,
  database: Database,
  drifting: ReadonlySet<string> = new Set(),
): Promise<Failure | null> {
  const { seed, planSelection, schedule } = world;
  for (const storeCustomer of world.customers.values()) {
    const { customer } = storeCustomer;
    const { customerId } = customer.lifecycle;
    // Only its arrival decides when an event without `created` happened.
    const isUndated = customer.format.hasUndatedEvents === true;
    const changes = trueChanges(storeCustomer, world);
    const divergences = [
      ...(isUndated ? [] : await checkTeams(storeCustomer, changes, world, database)),
      ...(await checkRebuild(storeCustomer, changes, world, database)),
    ];
    // A plan that the application wrote is drift until an event is applied.
    const isWritten = storeCustomer.application.written.size > 0;
    const hasDrifted = !isWritten && !isUndated && drifting.has(customerId);
    if (hasDrifted) divergences.push({ kind: 'drift', customerId });
    const concerns = (one: object) => !('customerId' in one) || one.customerId === customerId;
    const steps = schedule.steps.filter(concerns);
    if (divergences.length > 0) {
      return { seed, planSelection, divergences, customer, steps, isShrunk: false };
    }
  }
  return null;
}

/** The events of a customer, and its completed checkouts. */
function trueChanges({ history }: StoreCustomer, { schedule }: StoreWorld): readonly TrueChange[] {
  const checkouts = schedule.steps.flatMap((step) =>
    step.kind === 'redirect' && step.customerId === history.customerId
      ? (changeOfRedirect(history, step) ?? [])
      : [],
  );
  return changesOf(history, checkouts);
}

/** Each team must be as expected, or still have the plan that the application wrote. */
async function checkTeams(
  { history, application, loss }: StoreCustomer,
  changes: readonly TrueChange[],
  { planSelection }: StoreWorld,
  { query }: Database,
): Promise<Divergence[]> {
  const { customerId } = history;
  const divergences: Divergence[] = [];
  const teams = await readTeamsOf(query, [customerId]);
  if (teams.length === 0) {
    const expected = [expectedTeam(changes, planSelection)];
    divergences.push({ kind: 'team', customerId, expected, actual: null });
  }
  for (const { id, plan } of teams) {
    const actual = { ...NO_PLAN, ...plan };
    const team = expectedTeam(changes, planSelection);
    const written = application.written.get(id);
    const expected = written === undefined ? [team] : [team, written];
    if (!expected.some((one) => isSameTeam(one, actual))) {
      divergences.push({ kind: 'team', customerId, expected, actual });
    }
    if (application.written.size === 0) {
      divergences.push(...(await checkHistory(id, customerId, actual, query)));
    }
    // What was forgotten can include the last status, which nothing but a reconciliation shows.
    if (loss.kind !== 'forgotten') {
      divergences.push(
        ...(await checkAccess(id, customerId, query, {
          access: expectedAccess(changes, planSelection),
          isGift: isGift(actual, changes),
        })),
      );
    }
  }
  const states = await readStates(query, [customerId]);
  const { isAmbiguous, hasParked } = await readWaiting(query, customerId);
  if (isAmbiguous || ambiguousReport(states.of(customerId)) !== null) {
    divergences.push({ kind: 'ambiguous', customerId });
  }
  if (hasParked) divergences.push({ kind: 'parked', customerId });
  return divergences;
}

/** What the jobs still see to do. */
async function readWaiting(query: Query, customerId: string) {
  const text = `
    select exists (
             select from instep.customers where customer_id = $1 and ambiguous_since is not null
           ) as "isAmbiguous",
           exists (
             select from instep.events where customer_id = $1 and outcome = 'parked'
           ) as "hasParked"`;
  const rows = await query<{ isAmbiguous: boolean; hasParked: boolean }>(text, [customerId]);
  return rows[0] ?? { isAmbiguous: false, hasParked: false };
}

/** Unless the application wrote a plan, each change must begin with what the one before it left, and the last be the row. */
async function checkHistory(
  teamId: ApplicationId,
  customerId: string,
  plan: Plan,
  query: Query,
): Promise<Divergence[]> {
  const changes = (await readTeamChanges(query, { teamId, limit: 1_000 })).toReversed();
  let current: Plan = NO_PLAN;
  let isComplete = true;
  for (const change of changes) {
    const before = { ...NO_PLAN, ...change.before };
    const after = { ...NO_PLAN, ...change.after };
    isComplete &&= isSameTeam(before, current) && !isSameTeam(after, current);
    current = after;
  }
  isComplete &&= isSameTeam(current, plan);
  return isComplete ? [] : [{ kind: 'history', customerId, changes }];
}

const WITH_ACCESS = ['active', 'trialing', 'past_due'];

/** The view must show the subscription that decides, with its true status. */
async function checkAccess(
  teamId: ApplicationId,
  customerId: string,
  query: Query,
  { access, isGift }: { access: ExpectedAccess | null; isGift: boolean },
): Promise<Divergence[]> {
  // A gift counts instead of a subscription without access.
  const expected = isGift && !WITH_ACCESS.includes(access?.status ?? '') ? null : access;
  const { subscriptionId = null, status = null } = (await readAccess(query, teamId)) ?? {};
  const isShown = subscriptionId !== null && status !== null;
  const actual = isShown ? { subscriptionId, status } : null;
  const isSame =
    actual?.subscriptionId === expected?.subscriptionId && actual?.status === expected?.status;
  return isSame ? [] : [{ kind: 'access', customerId, expected, actual }];
}

/** For a dry run. */
const settlesNothing = async () => false;

/** `instep rebuild` must change nothing, and keep plans that the application wrote. */
async function checkRebuild(
  { customer, history, application }: StoreCustomer,
  changes: readonly TrueChange[],
  { planSelection }: StoreWorld,
  database: Database,
): Promise<Divergence[]> {
  const { customerId } = history;
  const divergences: Divergence[] = [];
  // A plan that Instep could have written with another TEAM_PLAN, or before a name changed, counts as
  // Instep's own. With events without `created`, the log alone determines what that is.
  const { hasUndatedEvents = false } = customer.format;
  const others = (['newest', 'best'] as const).map((one) => expectedTeam(changes, one));
  const [team] = await readTeamsOf(database.query, [customerId]);
  if (team === undefined) return [];
  const options = { planSelection, teamId: team.id, isDryRun: true, settle: settlesNothing };
  for await (const found of rebuild(database, options)) {
    const { teamId, subscriptionIds } = found;
    const is = { ...NO_PLAN, ...found.is };
    const shouldBe = { ...NO_PLAN, ...found.shouldBe };
    const isOwn =
      hasUndatedEvents || others.some((one) => isSameTeam({ ...one, planName: is.planName }, is));
    const isWritten = isSameTeam(is, application.written.get(teamId));
    if (isWritten && isOwn && subscriptionIds.length === 0) continue;
    divergences.push({ kind: 'rebuilt', customerId, is, shouldBe, subscriptionIds });
  }
  return divergences;
}
