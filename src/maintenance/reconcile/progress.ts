import * as v from 'valibot';
import { InstepError } from '../../runtime/errors.ts';
import { NOTHING_COUNTED } from './finding.ts';

const whole = v.pipe(v.number(), v.integer());
const count = v.pipe(whole, v.minValue(0));

const progressShape = v.object({
  phase: v.picklist(['listing', 'comparing', 'done']),
  beganAtMs: whole,
  isDryRun: v.boolean(),
  /** The listing continues after this subscription; `null`: at the beginning. */
  cursor: v.nullable(v.string()),
  /** The comparing continues after this team. */
  afterTeamId: whole,
  counts: v.object({
    subscriptions: count,
    unreadable: count,
    teams: count,
    drifts: count,
    repaired: count,
    unrecorded: count,
    customersWithoutTeam: count,
    unknownCustomers: count,
  }),
});

/** How far a reconciliation of all teams is. */
export type Progress = v.InferOutput<typeof progressShape>;

/** The progress of the last reconciliation; `null` when there was none. */
export function readProgress(saved: unknown): Progress | null {
  return v.is(progressShape, saved) ? saved : null;
}

/** Whether to continue where the last reconciliation was interrupted. */
export type Resume = 'no' | 'if possible' | 'required';

export class NothingToResume extends InstepError {
  readonly code = 'NOTHING_TO_RESUME';
}

/** A list that is older than this says too little about the present. */
const RESUMABLE_MS = 24 * 60 * 60 * 1_000;

/** Where a reconciliation starts. @throws NothingToResume */
export function startOf(
  saved: unknown,
  { isDryRun, resume, nowMs }: { isDryRun: boolean; resume: Resume; nowMs: number },
): Progress {
  const resumed = resume === 'no' ? null : resumable(readProgress(saved), isDryRun, nowMs);
  if (resumed !== null) return resumed;
  if (resume === 'required') {
    throw new NothingToResume('no reconciliation was interrupted within the last 24 hours');
  }
  const start = {
    phase: 'listing',
    cursor: null,
    afterTeamId: 0,
    counts: NOTHING_COUNTED,
  } as const;
  return { ...start, beganAtMs: nowMs, isDryRun };
}

function resumable(saved: Progress | null, isDryRun: boolean, nowMs: number): Progress | null {
  if (saved === null || saved.phase === 'done') return null;
  if (nowMs - saved.beganAtMs > RESUMABLE_MS) return null;
  if (saved.isDryRun === isDryRun) return saved;
  // What a dry run has listed still counts, but all teams are compared from the beginning.
  const { subscriptions, unreadable } = saved.counts;
  const counts = { ...NOTHING_COUNTED, subscriptions, unreadable };
  return { ...saved, isDryRun, afterTeamId: 0, counts };
}
