import * as v from 'valibot';
import type { Examined } from '../postgres/examine.ts';
import type { LeasedRun } from './lease.ts';

const progressShape = v.object({ after: v.nullable(v.union([v.number(), v.string()])) });

/** The id of a team or another key. */
type Key = number | string;

/** A run examines rows for this long. */
const BUDGET_MS = 100;

type SweepOptions = {
  /** A run also ends when it has found so many; there can be more among the rows that it examined last. */
  readonly limit?: number;
  readonly clockMs?: () => number;
};

/**
 * Examines teams page by page, from where the last run ended, and after the last team from the first one again. So
 * neither a statement nor a run takes longer the more teams there are: only the whole sweep does. Returns what it has
 * found.
 */
export async function sweep<Found>(
  run: Pick<LeasedRun, 'progress' | 'complete'>,
  examine: (after: Key | null) => Promise<Examined<Found, Key>>,
  { limit = Number.POSITIVE_INFINITY, clockMs = () => performance.now() }: SweepOptions = {},
): Promise<Found[]> {
  const startedAtMs = clockMs();
  const saved = v.safeParse(progressShape, run.progress);
  let after = saved.success ? saved.output.after : null;
  const all: Found[] = [];
  do {
    const { found, examinedTo } = await examine(after);
    all.push(...found);
    if (all.length >= limit) break;
    after = examinedTo;
  } while (after !== null && clockMs() - startedAtMs < BUDGET_MS);
  await run.complete({ after });
  return all;
}
