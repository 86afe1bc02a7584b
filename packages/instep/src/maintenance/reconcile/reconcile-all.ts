import { forgetOldFindings } from '../../postgres/statements/findings.ts';
import { countLinkedTeams, readLinkedTeams } from '../../postgres/statements/teams.ts';
import { Stopped } from '../../runtime/retry.ts';
import type { LeasedRun } from '../lease.ts';
import { findUnmatchedSubscriptions } from './find-unmatched.ts';
import {
  estimateListed,
  forgetListed,
  readListed,
  rememberListed,
} from './listed-subscriptions.ts';
import { readListings } from './listing.ts';
import type { ReconcileOptions, StepProgress } from './options.ts';
import { added, type Counts, type Progress, type Resume, startOf } from './progress.ts';
import { reconcileTeams } from './reconcile-teams.ts';

const TEAMS_AT_ONCE = 500;

/**
 * Reconciles all teams: stores Stripe's list of subscriptions page by page, and compares the teams when the
 * list is complete. A customer's subscriptions can be on different pages, and comparing with only some of
 * them would take away a plan that is paid for.
 *
 * @throws Stopped, DeadlineExceeded, StripeApiFailed or NothingToResume
 */
export async function reconcileAll(
  run: LeasedRun,
  options: ReconcileOptions & { readonly resume: Resume },
  signal: AbortSignal,
): Promise<Counts> {
  const { database, isDryRun, resume, now } = options;
  const { query } = database;
  const { listSubscriptions } = options.api;
  const report = await createReporter(options);
  let progress = startOf(run.progress, { isDryRun, resume, nowMs: now() });

  async function save(next: Partial<Progress>, found: Partial<Counts>): Promise<void> {
    progress = { ...progress, ...next, counts: added(progress.counts, found) };
    await run.saveProgress(progress);
  }

  // Makes it possible to resume even if it is interrupted before the first page.
  await save({}, {});
  if (progress.phase === 'listing') {
    const { cursor } = progress;
    if (cursor === null) await forgetListed(query);
    for await (const page of readListings({ listSubscriptions, cursor, now, signal })) {
      const subscriptions = await rememberListed(query, page.subscriptions);
      const phase = page.cursor === null ? 'comparing' : 'listing';
      await save({ cursor: page.cursor, phase }, { subscriptions, unreadable: page.unreadable });
      report('subscriptions', progress.counts.subscriptions);
    }
  }

  for (;;) {
    if (signal.aborted) throw new Stopped();
    const page = { afterId: progress.afterTeamId, limit: TEAMS_AT_ONCE };
    const teams = await readLinkedTeams(query, page);
    const last = teams.at(-1);
    if (last === undefined) break;
    const customerIds = teams.map(({ customerId }) => customerId);
    const listed = await readListed(query, customerIds);
    const found = await reconcileTeams(teams, listed, options, signal);
    await save({ afterTeamId: last.id }, found);
    report('teams', progress.counts.teams);
  }

  async function onPage(customers: number): Promise<void> {
    // Stops if another instance has taken over.
    await save({}, {});
    report('customers', customers);
  }
  const unmatched = await findUnmatchedSubscriptions(options, onPage, signal);
  const counts = added(progress.counts, unmatched);
  // Before the list is deleted, which is in use if another instance has taken over.
  await run.complete({ ...progress, counts, phase: 'done' });
  await forgetListed(query);
  await forgetOldFindings(query);
  return counts;
}

async function createReporter({ database, onProgress }: ReconcileOptions) {
  if (onProgress === undefined) return () => undefined;
  const totals = {
    subscriptions: await estimateListed(database.query),
    teams: await countLinkedTeams(database.query),
    customers: null,
  };
  return (of: StepProgress['of'], done: number) => onProgress({ of, done, total: totals[of] });
}
