// Writes the names of products to the teams that lack them, or have a former one.

import type { ApplicationId } from '../postgres/application.ts';
import type { Database } from '../postgres/database.ts';
import { canOthersSucceed, DatabaseBusy } from '../postgres/errors.ts';
import type { Examined } from '../postgres/examine.ts';
import {
  applyProductName,
  readTeamsToName,
  readUnappliedNames,
  storeAppliedName,
  type UnappliedName,
} from '../postgres/statements/products.ts';
import type { Logger } from '../runtime/logging.ts';
import { throttle } from '../runtime/retry.ts';

type NamesOptions = {
  database: Pick<Database, 'query' | 'transaction'>;
  logger: Logger;
};

/** All teams are read, page by page, in at most this share of the time, so that other work comes first. */
const SHARE = 0.05;

/** Writes the names of products, which are looked up when `ask-stripe.ts` asks, to all of their teams. */
export async function applyProductNames(
  { database, logger }: NamesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { query } = database;

  async function applyTo(
    teamId: ApplicationId,
    { productId, name }: UnappliedName,
  ): Promise<'named' | 'refused' | 'locked'> {
    try {
      const isNamed = await database.transaction((query) =>
        applyProductName(query, productId, teamId),
      );
      return isNamed ? 'named' : 'locked';
    } catch (err) {
      if (!canOthersSucceed(err)) throw err;
      logger.warn({ productId, name, teamId, err }, 'team keeps its plan name');
      return err instanceof DatabaseBusy ? 'locked' : 'refused';
    }
  }

  async function applyName(product: UnappliedName): Promise<void> {
    const { productId } = product;
    const teams = { named: 0, refused: 0, locked: 0 };
    let afterId: ApplicationId | null = null;
    do {
      const startedAtMs = performance.now();
      const page: Examined<ApplicationId> = await readTeamsToName(query, productId, afterId);
      afterId = page.examinedTo;
      if (afterId !== null) await throttle({ startedAtMs, share: SHARE }, signal);
      for (const teamId of page.found) {
        if (signal.aborted) return;
        teams[await applyTo(teamId, product)] += 1;
      }
    } while (afterId !== null);
    if (teams.named > 0) logger.info({ productId, teams: teams.named }, 'product name applied');
    if (teams.locked === 0 && product.isKnownEverywhere) await storeAppliedName(query, product);
  }

  for (const product of await readUnappliedNames(query)) {
    if (signal.aborted) return;
    await applyName(product);
  }
}
