import type { ApplicationId } from '../../core/application-id.ts';
import { type FoundProblem, storeFindings } from '../../postgres/statements/findings.ts';
import { idOf } from '../../stripe/api.ts';
import { readPages } from '../stripe-pages.ts';
import { unmatched } from './finding.ts';
import {
  countUnlistedCustomers,
  readTeamlessCustomers,
  readUnlistedTeams,
  rememberCustomers,
} from './listed-subscriptions.ts';
import type { ReconcileOptions } from './options.ts';
import type { Counts } from './progress.ts';

const PAGE = 500;

/**
 * Finds customers with a subscription that no team has, and teams whose customer Stripe does not know. For
 * the latter it reads the list of all customers, because many have no subscription.
 */
export async function findUnmatchedSubscriptions(
  options: ReconcileOptions,
  onPage: (customers: number) => Promise<void>,
  signal: AbortSignal,
): Promise<Pick<Counts, 'customersWithoutTeam' | 'unknownCustomers'>> {
  const { onFinding } = options;
  const { query } = options.database;
  const store = (found: readonly FoundProblem[]) =>
    storeFindings(
      query,
      found.map(({ customerId }) => customerId),
      found,
    );
  let customersWithoutTeam = 0;
  for (let afterId: string | undefined = ''; afterId !== undefined; ) {
    const page = await readTeamlessCustomers(query, { afterId, limit: PAGE });
    for (const customer of page) onFinding({ kind: 'customer without a team', ...customer });
    await store(page.map(({ customerId }) => unmatched(customerId, null)));
    customersWithoutTeam += page.length;
    afterId = page.at(-1)?.customerId;
  }

  await rememberUnlisted(options, onPage, signal);
  let unknownCustomers = 0;
  for (let afterId: ApplicationId | null | undefined = null; afterId !== undefined; ) {
    const page: Awaited<ReturnType<typeof readUnlistedTeams>> = await readUnlistedTeams(query, {
      afterId,
      limit: PAGE,
    });
    for (const { id: teamId, customerId } of page) {
      onFinding({ kind: 'unknown customer', teamId, customerId });
    }
    await store(page.map(({ id, customerId }) => unmatched(customerId, id)));
    unknownCustomers += page.length;
    afterId = page.at(-1)?.id;
  }
  return { customersWithoutTeam, unknownCustomers };
}

/** Reads the list of customers until every customer of a team is found. */
async function rememberUnlisted(
  { database, api }: ReconcileOptions,
  onPage: (customers: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { query } = database;
  let unlisted = await countUnlistedCustomers(query);
  if (unlisted === 0) return;
  let read = 0;
  const list = (cursor: string | null, signal: AbortSignal) =>
    api.listCustomers({ cursor }, signal);
  for await (const { objects } of readPages({ list, cursor: null, signal })) {
    const ids = objects.flatMap((object) => idOf(object) ?? []);
    unlisted -= await rememberCustomers(query, ids);
    read += objects.length;
    await onPage(read);
    if (unlisted <= 0) return;
  }
}
