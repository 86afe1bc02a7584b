import * as v from 'valibot';
import type { ApplicationId } from '../core/application.ts';
import type { Examined } from '../postgres/examine.ts';
import type { LeasedRun } from './lease.ts';

const progressShape = v.object({ afterTeamId: v.nullable(v.union([v.number(), v.string()])) });

/** A run examines teams for this long. */
const BUDGET_MS = 100;

type SweepOptions = {
  /** A run also ends when it has found so many; there can be more among the teams that it examined last. */
  readonly limit?: number;
  readonly clockMs?: () => number;
};

/**
 * Examines teams page by page, from where the last run ended, and after the last team from the first one again. So
 * neither a statement nor a run takes longer the more teams there are: only the whole sweep does. Returns what it has
 * found.
 */
export async function sweepTeams<Found>(
  run: Pick<LeasedRun, 'progress' | 'complete'>,
  examine: (afterId: ApplicationId | null) => Promise<Examined<Found>>,
  { limit = Number.POSITIVE_INFINITY, clockMs = () => performance.now() }: SweepOptions = {},
): Promise<Found[]> {
  const startedAtMs = clockMs();
  const saved = v.safeParse(progressShape, run.progress);
  let afterTeamId = saved.success ? saved.output.afterTeamId : null;
  const all: Found[] = [];
  do {
    const { found, examinedTo } = await examine(afterTeamId);
    all.push(...found);
    if (all.length >= limit) break;
    afterTeamId = examinedTo;
  } while (afterTeamId !== null && clockMs() - startedAtMs < BUDGET_MS);
  await run.complete({ afterTeamId });
  return all;
}
