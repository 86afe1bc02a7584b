import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { isSamePlan } from '../../core/transition.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import { DatabaseRefused } from '../../postgres/errors.ts';
import { PROBLEMS, storeFindings } from '../../queries/findings.ts';
import { readCustomers } from '../../queries/subscriptions.ts';
import { type LinkedTeam, lockFreeTeams, readTeamsOf, writePlans } from '../../queries/teams.ts';
import { toSubscriptionJson } from '../../stripe/parse-listed-subscription.ts';
import { makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import type { DatedSubscription, Drift } from './drift.ts';
import { findDrifts } from './find-drifts.ts';
import { findingOf, isRight, problemOf } from './finding.ts';
import { listCustomer } from './listing.ts';
import type { ReconcileOptions } from './options.ts';
import type { Counts } from './progress.ts';

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
  const drifts = await confirm(await findDrifts(teams, listed, options), options, signal);
  let open: readonly Drift[] = drifts;
  for (let round = 0; !options.isDryRun && round < ROUNDS && open.length > 0; round += 1) {
    await Promise.all(open.map((drift) => repair(drift, options)));
    open = await findDrifts(await readAgain(open, options), listed, options);
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
 * Asks Stripe again before it considers a team to have no subscription: the customer can be unknown there
 * because the key belongs to another account, or can have subscribed since the listing.
 */
async function confirm(
  drifts: readonly Drift[],
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Drift[]> {
  const confirmed: Drift[] = [];
  for (const drift of drifts) {
    const isCertain = drift.cause !== 'no subscription';
    const listing = isCertain ? null : await listCustomer(drift.team.customerId, options, signal);
    const isEmpty = listing?.subscriptions.length === 0 && listing.unreadable === 0;
    if (isCertain || isEmpty) confirmed.push(drift);
  }
  return confirmed;
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
      const rebuilt = { planSelection, teamId: team.id, isDryRun: false, isConfirmed: true };
      await drain(rebuild(database, rebuilt));
    }
  } catch (err) {
    // A constraint of the application refused it. The other teams are still repaired.
    if (!(err instanceof DatabaseRefused)) throw err;
    logger.error({ teamId: team.id, err }, 'drift not repaired');
  }
}

/** Clears a plan, unless the team has changed or an event of its customer has arrived meanwhile. */
async function clear({ team, shouldBe }: Drift, { database }: ReconcileOptions): Promise<void> {
  const { id, customerId, plan } = team;
  await database.transaction(async (query) => {
    const { teams } = await lockFreeTeams(query, [customerId]);
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
