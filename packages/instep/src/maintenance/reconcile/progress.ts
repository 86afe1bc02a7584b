import * as v from 'valibot';
import type { PlanSelection } from '../../core/plan-selection.ts';
import type { Ingest } from '../../ingest/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import { CodedError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { NameOf } from '../../stripe/product-names.ts';
import type { ReconciliationIssue } from './drift.ts';

export type ReconcileServices = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly api: Pick<StripeApi, 'listSubscriptions' | 'listCustomers'>;
  readonly nameOf: NameOf;
  readonly planSelection: PlanSelection;
  /** The key of a subscription's metadata that names a team; `teamId` by default. */
  readonly linkByMetadata?: string | null | undefined;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

export type ReconcileOptions = ReconcileServices & {
  /** Reports drift without repairing it. */
  readonly isDryRun: boolean;
  /** The name of the operator who asked for it. */
  readonly operator?: string;
  readonly onIssue: (issue: ReconciliationIssue) => void;
  readonly onProgress?: (progress: StepProgress) => void;
  /** How often all teams are compared, if this run is one of those. */
  readonly intervalMs?: number;
};

/** The progress of the current step. The steps come in this order. */
export type StepProgress = {
  readonly of: 'subscriptions' | 'teams' | 'customers';
  readonly done: number;
  /** The estimated total; `null` when there is none. */
  readonly total: number | null;
};

const integer = v.pipe(v.number(), v.integer());
const count = v.optional(v.pipe(integer, v.minValue(0)), 0);

const countsShape = v.object({
  subscriptions: count,
  unreadable: count,
  teams: count,
  drifts: count,
  repaired: count,
  // Teams that have the right plan, but lack an event in the log.
  unrecorded: count,
  customersWithoutTeam: count,
  unknownCustomers: count,
});

export type Counts = Readonly<v.InferOutput<typeof countsShape>>;

export const NOTHING_COUNTED: Counts = v.parse(countsShape, {});

export function added(counts: Counts, found: Partial<Counts>): Counts {
  const names = Object.keys(counts) as (keyof Counts)[];
  const sums = names.map((name) => [name, counts[name] + (found[name] ?? 0)]);
  return v.parse(countsShape, Object.fromEntries(sums));
}

const progressShape = v.object({
  phase: v.picklist(['listing', 'comparing', 'done']),
  startedAtMs: integer,
  isDryRun: v.boolean(),
  /** The listing continues after this subscription; `null`: at the beginning. */
  cursor: v.nullable(v.string()),
  /** The comparison continues after this team; `null`: at the beginning. */
  afterTeamId: v.nullable(v.union([integer, v.string()])),
  counts: countsShape,
  /** The last comparison that was completed, while and after later ones. */
  completed: v.optional(
    v.nullable(v.object({ startedAtMs: integer, endedAtMs: integer, teams: integer })),
    null,
  ),
  /** How often a server does it; `null`: never so far. */
  intervalMs: v.optional(v.nullable(integer), null),
});

export type Progress = v.InferOutput<typeof progressShape>;

export function readProgress(saved: unknown): Progress | null {
  const parsed = v.safeParse(progressShape, saved);
  return parsed.success ? parsed.output : null;
}

/** Whether to continue where the last reconciliation was interrupted. */
export type Resume = 'no' | 'if possible' | 'required';

type ReconciliationCode =
  | 'NOTHING_TO_RESUME'
  | 'RECONCILIATION_FAILED'
  | 'RECONCILIATION_RUNNING'
  | 'STRIPE_KEY_FORBIDDEN';

/** A reconciliation was not begun, or not completed. The repairs made until then stay. */
export class ReconciliationFailed extends CodedError<ReconciliationCode> {}

/** An older list is too outdated to compare with. */
const RESUMABLE_MS = 24 * 60 * 60 * 1_000;

/** Where a reconciliation starts. @throws ReconciliationFailed: NOTHING_TO_RESUME */
export function startOf(
  saved: unknown,
  {
    isDryRun,
    resume,
    nowMs,
    intervalMs,
  }: { isDryRun: boolean; resume: Resume; nowMs: number; intervalMs?: number | undefined },
): Progress {
  const last = readProgress(saved);
  const kept = {
    completed: last?.completed ?? null,
    intervalMs: intervalMs ?? last?.intervalMs ?? null,
  };
  const resumed = resume === 'no' ? null : resumable(last, isDryRun, nowMs);
  if (resumed !== null) return { ...resumed, ...kept };
  if (resume === 'required') {
    const message = 'no reconciliation was interrupted within the last 24 hours';
    throw new ReconciliationFailed('NOTHING_TO_RESUME', message);
  }
  const start = {
    phase: 'listing',
    cursor: null,
    afterTeamId: null,
    counts: NOTHING_COUNTED,
  } as const;
  return { ...start, ...kept, startedAtMs: nowMs, isDryRun };
}

function resumable(saved: Progress | null, isDryRun: boolean, nowMs: number): Progress | null {
  if (saved === null || saved.phase === 'done') return null;
  if (nowMs - saved.startedAtMs > RESUMABLE_MS) return null;
  if (saved.isDryRun === isDryRun) return saved;
  // The list of a dry run can still be used, but all teams are compared from the beginning.
  const { subscriptions, unreadable } = saved.counts;
  const counts = { ...NOTHING_COUNTED, subscriptions, unreadable };
  return { ...saved, isDryRun, afterTeamId: null, counts };
}
