// Compares some teams with their customers' subscriptions, as Stripe lists them, and repairs and reports what differs. A
// reconciliation, the job that asks Stripe and `syncCustomer` call it.

import type { LogEvent } from '../../log/log-event.ts';
import type { ApplicationId } from '../../postgres/application.ts';
import type { Query } from '../../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../../postgres/errors.ts';
import { writeCurrentPlan } from '../../postgres/statements/current-plan.ts';
import { readStates } from '../../postgres/statements/customers.ts';
import { ISSUE_CAUSES, storeIssues } from '../../postgres/statements/issues.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { type LinkedTeam, lockTeam, readTeamsOf } from '../../postgres/statements/teams.ts';
import { hasPlan, isSamePlan } from '../../rule/plan.ts';
import { ENDED_STATUSES, effectOf } from '../../rule/status.ts';
import { type ListedSubscription, makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import {
  customerIssue,
  type DatedSubscription,
  type Drift,
  driftOf,
  foundIssueOf,
  hasRightPlan,
  reconciliationIssueOf,
} from './drift.ts';
import { listCustomer } from './listed-subscriptions.ts';
import type { Counts, ReconcileOptions, ReconcileServices } from './progress.ts';

/** The causes that comparing a team with its subscriptions finds. */
const TEAM_CAUSES = ISSUE_CAUSES.filter(
  (cause) => cause !== 'unknown customer' && cause !== 'customer without a team',
);

/** Finds teams with drift, repairs them unless it is a dry run, and reports them. */
export async function reconcileTeams(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Pick<Counts, 'teams' | 'drifts' | 'repaired' | 'unrecorded'>> {
  const { database, isDryRun } = options;
  const { confirmed } = await confirmDrifts(teams, listed, options, signal);
  let repairs: ReadonlyMap<ApplicationId, RepairResult> = new Map();
  if (!isDryRun) {
    repairs = await repairAll(confirmed, listed, options, signal);
    await ingestOtherStatuses(teams, listed, options);
  }
  const resultOf = ({ team }: Drift) => repairs.get(team.id);
  const isRepaired = (drift: Drift) => resultOf(drift) === 'repaired';
  const drifts = confirmed.filter((drift) => resultOf(drift) !== 'gone');
  for (const drift of drifts) options.onIssue(reconciliationIssueOf(drift, isRepaired(drift)));
  const withWrongPlan = drifts.filter((drift) => !hasRightPlan(drift));
  const unrepaired = withWrongPlan.filter((drift) => !isRepaired(drift));
  await storeIssues(
    database.query,
    teams.map(({ customerId }) => customerId),
    unrepaired.map((drift) => foundIssueOf(drift, resultOf(drift) === 'refused')),
    // Only a repair shows whether the database still refuses a plan.
    TEAM_CAUSES.filter((cause) => !isDryRun || cause !== 'plan refused'),
  );
  return {
    teams: teams.length,
    drifts: withWrongPlan.length,
    repaired: withWrongPlan.filter(isRepaired).length,
    unrecorded: drifts.length - withWrongPlan.length,
  };
}

/**
 * The same for the teams of a customer that has subscriptions: without any, only a complete reconciliation clears a plan
 * that the application wrote. `null`: Stripe does not know the customer, which is an issue of its teams.
 */
export async function reconcileSubscribed(
  customerId: string,
  listed: readonly ListedSubscription[] | null,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const { query } = options.database;
  const teams = await readTeamsOf(query, [customerId]);
  if (listed === null) {
    return await storeUnknown(query, await unknownAmong(teams, options, signal));
  }
  await storeIssues(query, [customerId], [], ['unknown customer']);
  if (listed.length > 0) await reconcileTeams(teams, listed, options, signal);
}

/**
 * Those of the teams with a customer whom Stripe does not know, for whom that is an issue. Nothing is wrong where the
 * customer was deleted and the team has no plan any more.
 */
export async function unknownAmong(
  teams: readonly LinkedTeam[],
  { api, database: { query } }: Pick<ReconcileServices, 'api' | 'database'>,
  signal: AbortSignal,
): Promise<LinkedTeam[]> {
  const ended = new Set<string>();
  for (const { customerId, plan } of teams) {
    if (hasPlan(plan) || ended.has(customerId)) continue;
    const customer = await api.retrieveCustomer(customerId, signal);
    if (customer?.isDeleted) ended.add(customerId);
  }
  const right = teams.filter(({ customerId, plan }) => ended.has(customerId) && !hasPlan(plan));
  await storeIssues(
    query,
    right.map(({ customerId }) => customerId),
    [],
    ['unknown customer'],
  );
  return teams.filter((team) => !right.includes(team));
}

/** Stores that Stripe does not know the customers of these teams. */
export async function storeUnknown(query: Query, teams: readonly LinkedTeam[]): Promise<void> {
  await storeIssues(
    query,
    teams.map(({ customerId }) => customerId),
    teams.map(({ id, customerId }) => customerIssue('unknown customer', customerId, id)),
  );
}

/**
 * What became of a drift. `repaired`: a later comparison found the team in sync. `refused`: the database does not
 * take the plan. `failed`: anything else, such as a team that stays locked. `gone`: the team was deleted, or has
 * another customer now.
 */
type RepairResult = 'repaired' | 'refused' | 'failed' | 'gone';

/** Each takes a connection, and requests use the same pool. */
const REPAIRS_AT_ONCE = 5;

async function repairAll(
  drifts: readonly Drift[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<ApplicationId, RepairResult>> {
  const results = new Map<ApplicationId, RepairResult>();
  if (drifts.length === 0) return results;
  for (let next = 0; next < drifts.length; next += REPAIRS_AT_ONCE) {
    const repairing = drifts.slice(next, next + REPAIRS_AT_ONCE).map(async (drift) => {
      const isRefused = await repair(drift, options);
      results.set(drift.team.id, isRefused ? 'refused' : 'failed');
    });
    await Promise.all(repairing);
  }
  const teams = await readAgain(options.database.query, drifts);
  const { inSync } = await confirmDrifts(teams, listed, options, signal);
  const teamIds = new Set(teams.map(({ id }) => id));
  for (const { team } of drifts) if (!teamIds.has(team.id)) results.set(team.id, 'gone');
  for (const { id } of inSync) results.set(id, 'repaired');
  return results;
}

type ConfirmedDrifts = {
  readonly confirmed: readonly Drift[];
  /** Teams whose customer Stripe does not know or can't describe are neither here nor in `confirmed`. */
  readonly inSync: readonly LinkedTeam[];
};

/**
 * Finds the drifts of teams. The list can be older than a team's row: the application writes the plan of a new
 * subscription, and no event announces it. So Stripe is asked again about a team whose subscription is not
 * listed, and about one that seems to have none, because its customer can be unknown where the key belongs to
 * another account.
 */
async function confirmDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ConfirmedDrifts> {
  const listedIds = new Set(listed.map(({ subscriptionId }) => subscriptionId));
  const confirmed: Drift[] = [];
  const unclear = new Set<ApplicationId>();
  for (const drift of await findDrifts(teams, listed, options)) {
    const { id, customerId, plan } = drift.team;
    const rowId = plan.providerSubscriptionId;
    if (drift.cause !== 'no subscription' && (!rowId || listedIds.has(rowId))) {
      confirmed.push(drift);
      continue;
    }
    const listedNow = await listCustomer(customerId, options, signal);
    if (listedNow === null || listedNow.unreadable > 0) unclear.add(id);
    else confirmed.push(...(await findDrifts([drift.team], listedNow.subscriptions, options)));
  }
  const driftIds = new Set(confirmed.map(({ team }) => team.id));
  const inSync = teams.filter(({ id }) => !driftIds.has(id) && !unclear.has(id));
  return { confirmed, inSync };
}

/** Those of the teams that still have their customer, as they are now. */
async function readAgain(query: Query, drifts: readonly Drift[]): Promise<LinkedTeam[]> {
  const ids = new Set(drifts.map(({ team }) => team.id));
  const customerIds = drifts.map(({ team }) => team.customerId);
  const teams = await readTeamsOf(query, customerIds);
  return teams.filter(({ id }) => ids.has(id));
}

/**
 * Ingests what Stripe lists as snapshots, so that newer events win. If that leaves a wrong plan in the row, something
 * else has written it: the plan that follows from the events replaces it. Returns whether the database refused the plan.
 */
async function repair(drift: Drift, options: ReconcileOptions): Promise<boolean> {
  const { team, toIngest } = drift;
  const { id, customerId, plan } = team;
  const { database, ingest, planSelection, operator = null, logger } = options;
  try {
    if (toIngest.length > 0) await ingest(toIngest.flatMap((dated) => snapshotOf(dated, options)));
    if (hasRightPlan(drift)) return false;
    await database.transaction(async (query) => {
      const locked = await lockTeam(query, id, 'no key update');
      if (locked?.customerId !== customerId || !isSamePlan(locked.plan, plan)) return;
      const writing = { planSelection, operator, isForced: true, cause: 'repair' } as const;
      await writeCurrentPlan(query, locked, writing);
    });
  } catch (err) {
    // A constraint of the application refused it, or the team is locked. The other teams are still repaired.
    if (!canOthersSucceed(err)) throw err;
    logger.error({ teamId: id, err }, 'drift not repaired');
    return !(err instanceof DatabaseBusy);
  }
  return false;
}

/** Ingests the statuses that change no plan, and so are no drift. They count for the access. */
async function ingestOtherStatuses(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
): Promise<void> {
  const { database, ingest, logger } = options;
  const customerIds = new Set(teams.map(({ customerId }) => customerId));
  const states = await readStates(database.query, [...customerIds]);
  const isMissed = ({ customerId, subscriptionId, status, asOfSeconds }: ListedSubscription) => {
    if (!customerIds.has(customerId) || effectOf(status) !== 'none') return false;
    const known = states.of(customerId).subscriptions.get(subscriptionId)?.latest.reported;
    // One that ended before it was paid, and before we knew of it, matters to no team.
    if (known === undefined) return !ENDED_STATUSES.includes(status);
    return known.status !== status && known.createdSeconds <= asOfSeconds;
  };
  await Promise.all(
    listed.filter(isMissed).map(async (subscription) => {
      const { customerId, endedSeconds, asOfSeconds } = subscription;
      const dated = { listed: subscription, seconds: endedSeconds ?? asOfSeconds };
      try {
        await ingest(snapshotOf(dated, options));
      } catch (err) {
        // As in a repair: the others are still ingested.
        if (!canOthersSucceed(err)) throw err;
        logger.error({ customerId, err }, 'status not applied');
      }
    }),
  );
}

/** What Stripe listed as an event for the ingest pipeline; none if it can't be read. */
export function snapshotOf(
  { listed, seconds }: DatedSubscription,
  { now, nonce }: Pick<ReconcileServices, 'now' | 'nonce'>,
): LogEvent[] {
  const dated = { createdSeconds: seconds, seenKeys: null, takenAtMs: now(), nonce };
  const snapshot = makeSnapshot(listed.object, dated);
  return snapshot === null ? [] : [{ ...snapshot, changeCause: 'repair' }];
}

type FindOptions = Pick<ReconcileOptions, 'database' | 'nameOf' | 'now' | 'planSelection'>;

/**
 * Compares teams with what Stripe lists for their customers. A team that differs is read and compared again, together
 * with its subscriptions at one moment, because an event may have been processed between the first reads.
 */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: FindOptions,
): Promise<readonly Drift[]> {
  const { database, planSelection } = options;
  const names = await namesOf(listed, options);
  const listedOf = byCustomer(listed);

  async function compare(query: Query, teams: readonly LinkedTeam[]): Promise<Drift[]> {
    const customerIds = teams.map(({ customerId }) => customerId);
    const stored = await readStates(query, customerIds);
    const allNames = new Map([...stored.names, ...names]);
    const driftOptions = { planSelection, names: allNames, nowMs: options.now() };
    return teams.flatMap((team) => {
      const ofTeam = listedOf.get(team.customerId) ?? [];
      return driftOf(team, stored.of(team.customerId), ofTeam, driftOptions) ?? [];
    });
  }

  const found = await compare(database.query, teams);
  if (found.length === 0) return [];
  return await database.transaction(
    async (query) => compare(query, await readAgain(query, found)),
    { isolation: 'repeatable read' },
  );
}

function byCustomer(listed: readonly ListedSubscription[]): Map<string, ListedSubscription[]> {
  const listedOf = new Map<string, ListedSubscription[]>();
  for (const subscription of listed) {
    const { customerId } = subscription;
    listedOf.set(customerId, [...(listedOf.get(customerId) ?? []), subscription]);
  }
  return listedOf;
}

/** The names of the listed products, from our table or from Stripe. */
async function namesOf(
  listed: readonly ListedSubscription[],
  { database, nameOf }: FindOptions,
): Promise<Map<string, string>> {
  const granted = listed.filter(({ status }) => effectOf(status) === 'grants');
  const productIds = [...new Set(granted.flatMap(({ productId }) => productId ?? []))];
  const names = await readProductNames(database.query, productIds);
  for (const productId of productIds) {
    const name = names.get(productId) ?? (await nameOf(productId));
    if (name !== null) names.set(productId, name);
  }
  return names;
}
