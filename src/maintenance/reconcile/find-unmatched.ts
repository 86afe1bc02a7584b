import {
  countUnlistedCustomers,
  readTeamlessCustomers,
  readUnlistedTeams,
  rememberCustomers,
} from '../../queries/listed-subscriptions.ts';
import { idOf } from '../../stripe/api.ts';
import { readPages } from '../stripe-pages.ts';
import type { Counts } from './finding.ts';
import type { ReconcileOptions } from './options.ts';

const PAGE = 500;

/**
 * Tells of customers whom no team follows, and of teams whose customer Stripe does not know. For
 * these it takes the list of all customers, since many have no subscription.
 */
export async function findUnmatchedSubscriptions(
  options: ReconcileOptions,
  /** Called now and then, since it may take its time. */
  onPage: () => Promise<void>,
  signal: AbortSignal,
): Promise<Pick<Counts, 'customersWithoutTeam' | 'unknownCustomers'>> {
  const { database, onFinding } = options;
  const { query } = database;
  let customersWithoutTeam = 0;
  for (let afterId = ''; ; ) {
    const page = await readTeamlessCustomers(query, { afterId, limit: PAGE });
    for (const found of page) onFinding({ kind: 'customer without a team', ...found });
    customersWithoutTeam += page.length;
    afterId = page.at(-1)?.customerId ?? '';
    if (page.length < PAGE) break;
  }

  await rememberUnlisted(options, onPage, signal);
  let unknownCustomers = 0;
  for (let afterId = 0; ; ) {
    const page = await readUnlistedTeams(query, { afterId, limit: PAGE });
    for (const { id: teamId, customerId } of page) {
      onFinding({ kind: 'unknown customer', teamId, customerId });
    }
    unknownCustomers += page.length;
    afterId = page.at(-1)?.id ?? 0;
    if (page.length < PAGE) break;
  }
  return { customersWithoutTeam, unknownCustomers };
}

/** Goes through the list of customers, until all are found whom teams follow. */
async function rememberUnlisted(
  { database, listCustomers, onProgress }: ReconcileOptions,
  onPage: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { query } = database;
  let unlisted = await countUnlistedCustomers(query);
  if (unlisted === 0) return;
  let seen = 0;
  const list = (cursor: string | null) => listCustomers({ cursor });
  for await (const { objects } of readPages({ list, cursor: null, signal })) {
    unlisted -= await rememberCustomers(
      query,
      objects.flatMap((object) => idOf(object) ?? []),
    );
    seen += objects.length;
    onProgress?.('customers', seen);
    await onPage();
    if (unlisted <= 0) return;
  }
}
