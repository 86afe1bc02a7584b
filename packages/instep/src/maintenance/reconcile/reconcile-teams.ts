import { NO_SUBSCRIPTIONS } from '../../core/customer.ts';
import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { effectOf } from '../../core/status.ts';
import { isSamePlan } from '../../core/transition.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import type { Query } from '../../postgres/database.ts';
import { isOfOneEvent } from '../../postgres/errors.ts';
import { PROBLEMS, storeFindings } from '../../postgres/statements/findings.ts';
import { readProductNames } from '../../postgres/statements/products.ts';
import { readCustomers } from '../../postgres/statements/subscriptions.ts';
import {
  type LinkedTeam,
  lockAvailableTeams,
  readTeamsOf,
  writePlans,
} from '../../postgres/statements/teams.ts';
import { isRefusedByStripe } from '../../stripe/api-failure.ts';
import { makeSnapshot, toSubscriptionJson } from '../../stripe/subscription-snapshot.ts';
import {
  type DatedSubscription,
  type Drift,
  driftOf,
  findingOf,
  isRight,
  problemOf,
} from './drift.ts';
import { listCustomer } from './listing.ts';
import type { Counts, ReconcileOptions } from './progress.ts';

/** The problems that comparing a team with its subscriptions finds. */
const TEAM_PROBLEMS = PROBLEMS.filter(
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
  const find = (some: readonly LinkedTeam[]) => findCertain(some, listed, options, signal);
  const drifts = await find(teams);
  let open: readonly Drift[] = drifts;
  for (let round = 0; !options.isDryRun && round < ROUNDS && open.length > 0; round += 1) {
    await Promise.all(open.map((drift) => repair(drift, options)));
    open = await find(await readAgain(open, options));
  }
  const openIds = new Set(open.map(({ team }) => team.id));
  const isRepaired = ({ team }: Drift) => !openIds.has(team.id);
  for (const drift of drifts) options.onFinding(findingOf(drift, isRepaired(drift)));
  const wrong = drifts.filter((drift) => !isRight(drift));
  await storeFindings(
    options.database.query,
    teams.map(({ customerId }) => customerId),
    wrong.filter((drift) => !isRepaired(drift)).map((drift) => problemOf(drift, options.isDryRun)),
    TEAM_PROBLEMS,
  );
  return {
    teams: teams.length,
    drifts: wrong.length,
    repaired: wrong.filter(isRepaired).length,
    unrecorded: drifts.length - wrong.length,
  };
}

/**
 * Finds the drifts of teams. The list can be older than a team's row: the application writes the plan of a new
 * subscription, and no event announces it. So Stripe is asked again about a team whose subscription is not
 * listed, and about one that seems to have none, because its customer can be unknown where the key belongs to
 * another account.
 */
async function findCertain(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Drift[]> {
  const listedIds = new Set(listed.map(({ subscriptionId }) => subscriptionId));
  const certain: Drift[] = [];
  for (const drift of await findDrifts(teams, listed, options)) {
    const { customerId, plan } = drift.team;
    const rowId = plan.providerSubscriptionId;
    if (drift.cause !== 'no subscription' && (rowId === null || listedIds.has(rowId))) {
      certain.push(drift);
      continue;
    }
    const now = await listCustomer(customerId, options, signal).catch((err: unknown) => {
      // Stripe refuses the id, for example an empty one. The other teams are still compared.
      if (!isRefusedByStripe(err)) throw err;
      options.logger.warn({ customerId, err }, 'customer id refused by Stripe');
      return null;
    });
    if (now === null || now.unreadable > 0) continue;
    certain.push(...(await findDrifts([drift.team], now.subscriptions, options)));
  }
  return certain;
}

async function readAgain(
  drifts: readonly Drift[],
  { database }: ReconcileOptions,
): Promise<LinkedTeam[]> {
  const ids = new Set(drifts.map(({ team }) => team.id));
  const customerIds = drifts.map(({ team }) => team.customerId);
  const teams = await readTeamsOf(database.query, customerIds);
  return teams.filter(({ id }) => ids.has(id));
}

/**
 * Ingests what Stripe lists as snapshots, so that newer events win. A team that was changed by hand is
 * rebuilt from the log.
 */
async function repair(drift: Drift, options: ReconcileOptions): Promise<void> {
  const { team, cause, snapshots } = drift;
  const { database, ingest, planSelection, logger } = options;
  try {
    if (cause === 'no subscription') await clear(drift, options);
    else if (snapshots.length > 0) await ingest(snapshots.flatMap((one) => toEvent(one, options)));
    else {
      const rebuilt = { planSelection, teamId: team.id, isDryRun: false, wrongPlan: team.plan };
      await drain(rebuild(database, rebuilt));
    }
  } catch (err) {
    // A constraint of the application refused it, or the team is locked. The other teams are still repaired.
    if (!isOfOneEvent(err)) throw err;
    logger.error({ teamId: team.id, err }, 'drift not repaired');
  }
}

/** Clears a plan, unless the team has changed or an event of its customer has arrived meanwhile. */
async function clear({ team, shouldBe }: Drift, { database }: ReconcileOptions): Promise<void> {
  const { id, customerId, plan } = team;
  await database.transaction(async (query) => {
    const { teams } = await lockAvailableTeams(query, [customerId]);
    const { customers } = await readCustomers(query, [customerId]);
    const isSame = teams.some((one) => one.id === id && isSamePlan(one.plan, plan));
    if (isSame && !customers.has(customerId)) await writePlans(query, new Map([[id, shouldBe]]));
  });
}

function toEvent(
  { listed, seconds }: DatedSubscription,
  { now, nonce }: ReconcileOptions,
): ReceivedEvent[] {
  const takenAtMs = now();
  const dated = { createdSeconds: seconds, observedKeys: null, takenAtMs, nonce };
  const snapshot = makeSnapshot(toSubscriptionJson(listed), dated);
  if (snapshot === null) return [];
  const { event, body } = snapshot;
  return [{ ...event, body, receivedAtMs: takenAtMs, source: 'log' }];
}

async function drain(generator: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of generator);
}

type FindOptions = Pick<ReconcileOptions, 'database' | 'nameOf' | 'planSelection'>;

/**
 * Compares teams with what Stripe lists for their customers. A team that differs is compared again under its
 * lock, because an event may have been applied between the reads. A locked team is being changed, so it is
 * left out.
 */
export async function findDrifts(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: FindOptions,
): Promise<Drift[]> {
  const { database, planSelection } = options;
  const names = await namesOf(listed, options);
  const listedOf = byCustomer(listed);

  async function compare(query: Query, some: readonly LinkedTeam[]): Promise<Drift[]> {
    const customerIds = some.map(({ customerId }) => customerId);
    const stored = await readCustomers(query, customerIds);
    const driftOptions = { planSelection, names: new Map([...stored.names, ...names]) };
    return some.flatMap((team) => {
      const known = stored.customers.get(team.customerId) ?? NO_SUBSCRIPTIONS;
      return driftOf(team, known, listedOf.get(team.customerId) ?? [], driftOptions) ?? [];
    });
  }

  const found = await compare(database.query, teams);
  if (found.length === 0) return [];
  const foundIds = new Set(found.map(({ team }) => team.id));
  return await database.transaction(async (query) => {
    const customerIds = found.map(({ team }) => team.customerId);
    const available = await lockAvailableTeams(query, customerIds);
    return await compare(
      query,
      available.teams.filter(({ id }) => foundIds.has(id)),
    );
  });
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
