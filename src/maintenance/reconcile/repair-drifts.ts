import type { ListedSubscription } from '../../core/listed-subscription.ts';
import { rebuild } from '../../event-log/rebuild.ts';
import type { ReceivedEvent } from '../../ingest/received-event.ts';
import { DatabaseRefused } from '../../postgres/errors.ts';
import { readTeamsOf } from '../../queries/teams.ts';
import { toSubscriptionJson } from '../../stripe/listed-subscription.ts';
import { makeSnapshot } from '../../stripe/subscription-snapshot.ts';
import type { DatedSubscription, Drift } from './drift.ts';
import { findDrifts } from './find-drifts.ts';
import type { ReconcileOptions } from './options.ts';

/** A team may have missed an event and have been changed by hand besides. */
const ROUNDS = 2;

/**
 * Puts teams right: what Stripe shows goes through the one door as a look, so that whatever is newer
 * wins; what was changed by hand is folded anew from the log. Returns the ids of the teams that are
 * right now.
 */
export async function repairDrifts(
  drifts: readonly Drift[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
): Promise<ReadonlySet<number>> {
  let open = drifts;
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    await Promise.all(open.map((drift) => repair(drift, options)));
    const openIds = new Set(open.map(({ team }) => team.id));
    const customerIds = open.map(({ team }) => team.customerId);
    const teams = await readTeamsOf(options.database.query, customerIds);
    open = await findDrifts(
      teams.filter(({ id }) => openIds.has(id)),
      listed,
      options,
    );
  }
  const openIds = new Set(open.map(({ team }) => team.id));
  return new Set(drifts.map(({ team }) => team.id).filter((id) => !openIds.has(id)));
}

async function repair({ team, looks }: Drift, options: ReconcileOptions): Promise<void> {
  const { database, ingest, planSelection, logger } = options;
  try {
    if (looks.length > 0) await ingest(looks.flatMap((look) => toEvent(look, options)));
    else await drain(rebuild(database, { planSelection, teamId: team.id, isDryRun: false }));
  } catch (err) {
    // A constraint of the application's: the others are repaired all the same.
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
  const look = makeSnapshot(toSubscriptionJson(listed), dated);
  if (look === null) return [];
  return [{ ...look.event, body: look.body, receivedAtMs: takenAtMs, source: 'log' }];
}

async function drain(generator: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of generator);
}
