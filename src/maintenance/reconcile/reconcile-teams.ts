import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import { DatabaseRefused } from '../../postgres/errors.ts';
import { type LinkedTeam, readTeamsOf } from '../../queries/teams.ts';
import { toSubscriptionJson } from '../../stripe/listed-subscription.ts';
import { makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import type { DatedSubscription, Drift } from './drift.ts';
import { findDrifts } from './find-drifts.ts';
import { type Counts, findingOf } from './finding.ts';
import type { ReconcileOptions } from './options.ts';

/** A team may have missed an event and have been changed by hand as well. */
const ROUNDS = 2;

/** Finds teams that have drifted, repairs them unless it is a dry run, and reports them. */
export async function reconcileTeams(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
): Promise<Pick<Counts, 'teams' | 'drifts' | 'repaired'>> {
  const drifts = await findDrifts(teams, listed, options);
  let open: readonly Drift[] = drifts;
  for (let round = 0; !options.isDryRun && round < ROUNDS && open.length > 0; round += 1) {
    await Promise.all(open.map((drift) => repair(drift, options)));
    open = await findDrifts(await readAgain(open, options), listed, options);
  }
  const openIds = new Set(open.map(({ team }) => team.id));
  for (const drift of drifts) options.onFinding(findingOf(drift, !openIds.has(drift.team.id)));
  return { teams: teams.length, drifts: drifts.length, repaired: drifts.length - openIds.size };
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
 * Ingests what Stripe shows as snapshots, so that newer events win; a team that was changed by hand
 * is rebuilt from the log.
 */
async function repair({ team, snapshots }: Drift, options: ReconcileOptions): Promise<void> {
  const { database, ingest, planSelection, logger } = options;
  try {
    if (snapshots.length > 0) await ingest(snapshots.flatMap((one) => toEvent(one, options)));
    else await drain(rebuild(database, { planSelection, teamId: team.id, isDryRun: false }));
  } catch (err) {
    // A constraint of the application refuses it: the other teams are repaired all the same.
    if (!(err instanceof DatabaseRefused)) throw err;
    logger.error({ teamId: team.id, err }, 'drift not repaired');
  }
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
