import { forgetListed, readListed, rememberListed } from '../../queries/listed-subscriptions.ts';
import { readLinkedTeams } from '../../queries/teams.ts';
import { Stopped } from '../../runtime/retry.ts';
import type { LeasedRun } from '../lease.ts';
import { readPages } from '../stripe-pages.ts';
import { findUnmatchedSubscriptions } from './find-unmatched.ts';
import { type Counts, NOTHING_COUNTED } from './finding.ts';
import type { ReconcileOptions } from './options.ts';
import { type Progress, readProgress } from './progress.ts';
import { readListing } from './read-listing.ts';
import { reconcileTeams } from './reconcile-teams.ts';

/** What was listed longer ago than this tells too little of what is now. */
const RESUMABLE_MS = 24 * 60 * 60 * 1_000;

const TEAMS_AT_ONCE = 500;

/**
 * Reconciles everything: remembers what Stripe lists, page by page, and when all of it is there
 * compares team by team. A customer's subscriptions may stand on any pages, and to judge by some of
 * them would strip a team of what it pays for.
 *
 * @throws Stopped, or StripeApiFailed; another call goes on where this one was, if it may
 */
export async function reconcileAll(
  walk: LeasedRun,
  options: ReconcileOptions & { readonly mayResume: boolean },
  signal: AbortSignal,
): Promise<Counts> {
  const { database, listSubscriptions, isDryRun, now, onProgress } = options;
  const { query } = database;
  let progress = (options.mayResume ? resumable(walk.progress, options) : null) ?? {
    ...BEGINNING,
    beganAtMs: now(),
    isDryRun,
  };

  async function note(next: Partial<Progress>, counts: Partial<Counts>): Promise<void> {
    progress = { ...progress, ...next, counts: { ...progress.counts, ...counts } };
    await walk.saveProgress(progress);
  }

  if (progress.phase === 'listing' && progress.cursor === null) await forgetListed(query);
  if (progress.phase === 'listing') {
    const list = (cursor: string | null) => listSubscriptions({ cursor });
    for await (const page of readPages({ list, cursor: progress.cursor, signal })) {
      const { subscriptions, unreadable } = readListing(page, now());
      await rememberListed(query, subscriptions);
      const { counts } = progress;
      await note(
        { cursor: page.cursor, phase: page.cursor === null ? 'comparing' : 'listing' },
        {
          subscriptions: counts.subscriptions + subscriptions.length,
          unreadable: counts.unreadable + unreadable,
        },
      );
      onProgress?.('subscriptions', progress.counts.subscriptions);
    }
  }

  for (;;) {
    if (signal.aborted) throw new Stopped();
    const page = { afterId: progress.afterTeamId, limit: TEAMS_AT_ONCE };
    const teams = await readLinkedTeams(query, page);
    const last = teams.at(-1);
    if (last === undefined) break;
    const customerIds = teams.map(({ customerId }) => customerId);
    const found = await reconcileTeams(teams, await readListed(query, customerIds), options);
    const { counts } = progress;
    await note(
      { afterTeamId: last.id },
      {
        teams: counts.teams + found.teams,
        drifts: counts.drifts + found.drifts,
        repaired: counts.repaired + found.repaired,
      },
    );
    onProgress?.('teams', progress.counts.teams);
  }

  const counts = {
    ...progress.counts,
    ...(await findUnmatchedSubscriptions(options, () => note({}, {}), signal)),
  };
  await forgetListed(query);
  await walk.complete({ ...progress, counts, phase: 'done' });
  return counts;
}

const BEGINNING = {
  phase: 'listing',
  cursor: null,
  afterTeamId: 0,
  counts: NOTHING_COUNTED,
} as const;

/** Where to go on; `null` when nothing was left that is worth it. */
export function resumable(
  left: unknown,
  { isDryRun, now }: Pick<ReconcileOptions, 'isDryRun' | 'now'>,
): Progress | null {
  const data = readProgress(left);
  if (data === null || data.phase === 'done') return null;
  if (now() - data.beganAtMs > RESUMABLE_MS) return null;
  // What a dry run has listed is as good, but it has repaired nothing.
  if (data.isDryRun === isDryRun) return data;
  const { subscriptions, unreadable } = data.counts;
  const counts = { ...NOTHING_COUNTED, subscriptions, unreadable };
  return { ...data, isDryRun, afterTeamId: 0, counts };
}
