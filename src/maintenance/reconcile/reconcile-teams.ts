import type { ListedSubscription } from '../../core/listed-subscription.ts';
import type { LinkedTeam } from '../../queries/teams.ts';
import { findDrifts } from './find-drifts.ts';
import { type Counts, findingOf } from './finding.ts';
import type { ReconcileOptions } from './options.ts';
import { repairDrifts } from './repair-drifts.ts';

const NOBODY: ReadonlySet<number> = new Set();

/** Finds what has drifted, repairs it unless it is a dry run, and tells of it. */
export async function reconcileTeams(
  teams: readonly LinkedTeam[],
  listed: readonly ListedSubscription[],
  options: ReconcileOptions,
): Promise<Pick<Counts, 'teams' | 'drifts' | 'repaired'>> {
  const drifts = await findDrifts(teams, listed, options);
  const repaired = options.isDryRun ? NOBODY : await repairDrifts(drifts, listed, options);
  for (const drift of drifts) options.onFinding(findingOf(drift, repaired.has(drift.team.id)));
  return { teams: teams.length, drifts: drifts.length, repaired: repaired.size };
}
