import type { ApplicationId } from '../../core/application.ts';
import { grantOf, NO_DECIDING_EVENTS, planWithoutSubscription } from '../../core/plan-selection.ts';
import { ENDED_STATUSES, effectOf } from '../../core/status.ts';
import { isSamePlan } from '../../core/transition.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import type { Query } from '../../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../../postgres/errors.ts';
import { readOpenGrants } from '../../postgres/statements/grants.ts';
import {
  type FoundIssue,
  ISSUE_CAUSES,
  readDismissals,
  storeIssues,
} from '../../postgres/statements/issues.ts';
import { lockAvailableTeams } from '../../postgres/statements/lock-teams.ts';
import {
  type ChangedBy,
  recordApplicationChanges,
} from '../../postgres/statements/plan-changes.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { readSubscriptions } from '../../postgres/statements/subscriptions.ts';
import { type LinkedTeam, readTeamsOf, writePlans } from '../../postgres/statements/teams.ts';
import { pause } from '../../runtime/retry.ts';
import { isRefusedByStripe } from '../../stripe/api-failure.ts';
import {
  type ListedSubscription,
  makeSnapshot,
  toSubscriptionJson,
} from '../../stripe/subscription-snapshot.ts';
import {
  type DatedSubscription,
  type Drift,
  driftOf,
  foundIssueOf,
  hasRightPlan,
  issueOf,
} from './drift.ts';
import { listCustomer } from './listed-subscriptions.ts';
import { findOtherTeamsNamed } from './other-team-named.ts';
import type { Counts, ReconcileOptions, ReconcileServices } from './progress.ts';

/** The causes that comparing a team with its subscriptions finds. */
const TEAM_CAUSES = ISSUE_CAUSES.filter(
  (one) => one !== 'unknown customer' && one !== 'customer without a team',
);

/** A team may have missed an event and have been changed by hand as well. */
const ROUNDS = 2;

/** Finds teams with drift, repairs them unless it is a dry run, and reports them. */
export async function reconcileTeams(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Pick<Counts, 'teams' | 'drifts' | 'repaired' | 'unrecorded'>> {
  const found = (await confirmDrifts(teams, listed, options, signal)).confirmed;
  if (!options.isDryRun) {
    // Before a repair takes them away.
    const teamIds = teams.map(({ id }) => id);
    await recordApplicationChanges(options.database, teamIds);
  }
  const dismissals = await readDismissals(
    options.database.query,
    found.map((drift) => foundIssueOf(drift, false)).filter(isOfTeam),
  );
  const isDismissed = ({ team }: Drift) => dismissals.has(String(team.id));
  const open = found.filter((drift) => !isDismissed(drift));
  const repairs = options.isDryRun ? null : await repairAll(open, listed, options, signal);
  if (!options.isDryRun) await ingestOtherStatuses(teams, listed, options);
  const drifts = found.filter(({ team }) => repairs?.get(team.id) !== 'gone');
  const isRepaired = ({ team }: Drift) => repairs?.get(team.id) === 'repaired';
  for (const drift of drifts)
    options.onIssue(issueOf(drift, isRepaired(drift), isDismissed(drift)));
  const wrong = drifts.filter((drift) => !hasRightPlan(drift));
  const unrepaired = wrong.filter((drift) => !isRepaired(drift));
  const unrepairedIds = new Set(unrepaired.map(({ team }) => team.id));
  const others = teams.filter(({ id }) => !unrepairedIds.has(id));
  await storeIssues(
    options.database.query,
    teams.map(({ customerId }) => customerId),
    [
      ...unrepaired.map((drift) => foundIssueOf(drift, repairs?.get(drift.team.id) === 'refused')),
      ...(await findOtherTeamsNamed(options.database.query, others, options.linkByMetadata)),
    ],
    // Only a repair shows whether the database still refuses a plan.
    TEAM_CAUSES.filter((cause) => !options.isDryRun || cause !== 'plan refused'),
  );
  return {
    teams: teams.length,
    drifts: wrong.filter((drift) => !isDismissed(drift)).length,
    repaired: wrong.filter(isRepaired).length,
    unrecorded: drifts.length - wrong.length,
  };
}

const isOfTeam = (issue: FoundIssue): issue is FoundIssue & { readonly teamId: ApplicationId } =>
  issue.teamId !== null;

/**
 * What became of a drift. `repaired`: a later comparison found the team in sync. `refused`: the database does not
 * take the plan. `failed`: anything else, such as a team that stays locked. `gone`: the team was deleted, or has
 * another customer now.
 */
type RepairResult = 'repaired' | 'refused' | 'failed' | 'gone';

async function repairAll(
  drifts: readonly Drift[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<ApplicationId, RepairResult>> {
  const results = new Map<ApplicationId, RepairResult>();
  let open = drifts;
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    await Promise.all(
      open.map(async (drift) => {
        const isRefused = await repair(drift, options);
        results.set(drift.team.id, isRefused ? 'refused' : 'failed');
      }),
    );
    const teams = await readAgain(open, options);
    const { confirmed, inSync } = await confirmDrifts(teams, listed, options, signal);
    const teamIds = new Set(teams.map(({ id }) => id));
    for (const { team } of open) if (!teamIds.has(team.id)) results.set(team.id, 'gone');
    for (const { id } of inSync) results.set(id, 'repaired');
    open = confirmed;
  }
  return results;
}

type Comparison = {
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
): Promise<Comparison> {
  const listedIds = new Set(listed.map(({ subscriptionId }) => subscriptionId));
  const confirmed: Drift[] = [];
  const unclear = new Set<ApplicationId>();
  for (const drift of await findDrifts(teams, listed, options)) {
    const { id, customerId, plan } = drift.team;
    const rowId = plan.providerSubscriptionId;
    if (drift.cause !== 'no subscription' && (rowId === null || listedIds.has(rowId))) {
      confirmed.push(drift);
      continue;
    }
    const now = await listCustomer(customerId, options, signal).catch((err: unknown) => {
      // Stripe refuses the id, for example an empty one. The other teams are still compared.
      if (!isRefusedByStripe(err)) throw err;
      options.logger.warn({ customerId, err }, 'customer id refused by Stripe');
      return null;
    });
    if (now === null || now.unreadable > 0) unclear.add(id);
    else confirmed.push(...(await findDrifts([drift.team], now.subscriptions, options)));
  }
  const driftIds = new Set(confirmed.map(({ team }) => team.id));
  const inSync = teams.filter(({ id }) => !driftIds.has(id) && !unclear.has(id));
  return { confirmed, inSync };
}

async function readAgain(
  drifts: readonly Drift[],
  { database }: Pick<ReconcileOptions, 'database'>,
): Promise<LinkedTeam[]> {
  const ids = new Set(drifts.map(({ team }) => team.id));
  const customerIds = drifts.map(({ team }) => team.customerId);
  const teams = await readTeamsOf(database.query, customerIds);
  return teams.filter(({ id }) => ids.has(id));
}

/**
 * Ingests what Stripe lists as snapshots, so that newer events win. A team that was changed by hand is
 * rebuilt from the log. Returns whether the database refused the plan.
 */
async function repair(drift: Drift, options: ReconcileOptions): Promise<boolean> {
  const { team, cause, toIngest } = drift;
  const { database, ingest, planSelection, logger } = options;
  try {
    if (cause === 'no subscription') await clear(drift, options);
    else if (toIngest.length > 0) await ingest(toIngest.flatMap((one) => snapshotOf(one, options)));
    else {
      const wrong = { teamId: team.id, wrongPlan: team.plan };
      const rebuilt = {
        planSelection,
        isDryRun: false,
        ...wrong,
        changedBy: changedByReconciliation(options),
      };
      for await (const _ of rebuild(database, rebuilt));
    }
  } catch (err) {
    // A constraint of the application refused it, or the team is locked. The other teams are still repaired.
    if (!canOthersSucceed(err)) throw err;
    logger.error({ teamId: team.id, err }, 'drift not repaired');
    return !(err instanceof DatabaseBusy);
  }
  return false;
}

/** Clears a plan, unless the team has changed or an event of its customer has arrived meanwhile. */
async function clear({ team }: Drift, options: ReconcileOptions): Promise<void> {
  const { id, customerId, plan } = team;
  await options.database.transaction(async (query) => {
    const { teams } = await lockAvailableTeams(query, [customerId]);
    const { decidingEvents } = await readSubscriptions(query, [customerId]);
    const same = teams.filter((one) => one.id === id && isSamePlan(one.plan, plan));
    if (decidingEvents.has(customerId)) return;
    const shouldBe = planWithoutSubscription(grantOf(await readOpenGrants(query, same), id));
    await writePlans(
      query,
      same.map((team) => ({ team, shouldBe, changedBy: changedByReconciliation(options) })),
    );
  });
}

const changedByReconciliation = ({ operator }: ReconcileOptions): ChangedBy => ({
  cause: 'repair',
  operator: operator ?? null,
});

/** Ingests the statuses that change no plan, and so are no drift. They count for the access. */
async function ingestOtherStatuses(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
): Promise<void> {
  const { database, ingest, logger } = options;
  const customerIds = new Set(teams.map(({ customerId }) => customerId));
  const { latestStates } = await readSubscriptions(database.query, [...customerIds]);
  const isNews = ({ customerId, subscriptionId, status, asOfSeconds }: ListedSubscription) => {
    const known = latestStates.get(customerId)?.get(subscriptionId)?.subscription;
    // One that ended before it was paid, and before we knew of it, matters to no team.
    if (known === undefined) return !ENDED_STATUSES.includes(status);
    return known.status !== status && known.createdSeconds <= asOfSeconds;
  };
  const others = listed.filter(
    (one) => customerIds.has(one.customerId) && effectOf(one.status) === 'none' && isNews(one),
  );
  await Promise.all(
    others.map(async (one) => {
      const seconds = one.endedSeconds ?? one.asOfSeconds;
      try {
        await ingest(snapshotOf({ listed: one, seconds }, options));
      } catch (err) {
        // As in a repair: the others are still ingested.
        if (!canOthersSucceed(err)) throw err;
        logger.error({ customerId: one.customerId, err }, 'status not applied');
      }
    }),
  );
}

/** What Stripe listed as an event for the ingest pipeline; none if it can't be read. */
export function snapshotOf(
  { listed, seconds }: DatedSubscription,
  { now, nonce }: Pick<ReconcileServices, 'now' | 'nonce'>,
): ReceivedEvent[] {
  const dated = { createdSeconds: seconds, seenKeys: null, takenAtMs: now(), nonce };
  const snapshot = makeSnapshot(toSubscriptionJson(listed), dated);
  return snapshot === null ? [] : [{ ...snapshot, changeCause: 'repair' }];
}

type FindOptions = Pick<ReconcileOptions, 'database' | 'nameOf' | 'now' | 'planSelection'>;

type LockedComparison = { readonly drifts: readonly Drift[]; readonly locked: readonly Drift[] };

/** Longer than a transaction of ours takes. */
const LOCKED_PAUSE_MS = 500;

/**
 * Compares teams with what Stripe lists for their customers. A team that differs is compared again under its
 * lock, because an event may have been processed between the reads. A locked team is being changed, so it is
 * compared once more a moment later, without its lock if necessary.
 */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: FindOptions,
): Promise<readonly Drift[]> {
  const { database, planSelection } = options;
  const names = await namesOf(listed, options);
  const listedOf = byCustomer(listed);

  async function compare(query: Query, some: readonly LinkedTeam[]): Promise<Drift[]> {
    const customerIds = some.map(({ customerId }) => customerId);
    const stored = await readSubscriptions(query, customerIds);
    const grants = await readOpenGrants(query, some);
    const allNames = new Map([...stored.names, ...names]);
    const driftOptions = { planSelection, names: allNames, nowMs: options.now() };
    return some.flatMap((team) => {
      const known = stored.decidingEvents.get(team.customerId) ?? NO_DECIDING_EVENTS;
      const grant = grantOf(grants, team.id);
      const ofTeam = listedOf.get(team.customerId) ?? [];
      return driftOf(team, known, ofTeam, { ...driftOptions, grant }) ?? [];
    });
  }

  /** The drifts under the locks that are available, and the drifts of teams that can't be locked. */
  async function compareLocked(some: readonly LinkedTeam[]): Promise<LockedComparison> {
    const found = await compare(database.query, some);
    if (found.length === 0) return { drifts: [], locked: [] };
    try {
      return await database.transaction((query) => compareUnderLock(query, found));
    } catch (error) {
      // Row level security, for example, hides one of them from updates.
      if (!canOthersSucceed(error)) throw error;
      if (found.length === 1) return { drifts: [], locked: found };
      const alone: LockedComparison[] = [];
      for (const { team } of found) alone.push(await compareLocked([team]));
      return {
        drifts: alone.flatMap(({ drifts }) => drifts),
        locked: alone.flatMap(({ locked }) => locked),
      };
    }
  }

  async function compareUnderLock(
    query: Query,
    found: readonly Drift[],
  ): Promise<LockedComparison> {
    const foundIds = new Set(found.map(({ team }) => team.id));
    const customerIds = found.map(({ team }) => team.customerId);
    const { teams, lockedElsewhere: lockedCustomerIds } = await lockAvailableTeams(
      query,
      customerIds,
    );
    const drifts = await compare(
      query,
      teams.filter(({ id }) => foundIds.has(id)),
    );
    const locked = found.filter(({ team }) => lockedCustomerIds.has(team.customerId));
    return { drifts, locked };
  }

  const { drifts, locked } = await compareLocked(teams);
  if (locked.length === 0) return drifts;
  await pause(LOCKED_PAUSE_MS);
  const again = await compareLocked(await readAgain(locked, options));
  return [...drifts, ...again.drifts, ...again.locked];
}

function byCustomer(listed: readonly ListedSubscription[]): Map<string, ListedSubscription[]> {
  const listedOf = new Map<string, ListedSubscription[]>();
  for (const one of listed) {
    listedOf.set(one.customerId, [...(listedOf.get(one.customerId) ?? []), one]);
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
