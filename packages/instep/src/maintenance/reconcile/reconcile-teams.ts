import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { isSamePlan } from '../../core/transition.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import { isOfOneEvent } from '../../postgres/errors.ts';
import { PROBLEMS, storeFindings } from '../../postgres/statements/findings.ts';
import { readCustomers } from '../../postgres/statements/subscriptions.ts';
import {
  type LinkedTeam,
  lockAvailableTeams,
  readTeamsOf,
  writePlans,
} from '../../postgres/statements/teams.ts';
import { isRefusedByStripe } from '../../stripe/api-failure.ts';
import { makeSnapshot, toSubscriptionJson } from '../../stripe/subscription-snapshot.ts';
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
