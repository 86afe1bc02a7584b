// What a reconciliation is given, what it counts, and how far it is, as stored while one is interrupted.

import * as v from 'valibot';
import type { Ingest, Settle } from '../../log/pipeline.ts';
import type { Database } from '../../postgres/database.ts';
import type { PlanSelection } from '../../rule/plan-selection.ts';
import { CodedError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logging.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import type { NameOf } from '../../stripe/product-names.ts';
import type { ReconciliationIssue } from './drift.ts';

export type ReconcileServices = {
  readonly database: Database;
  readonly ingest: Ingest;
  readonly settle: Settle;
  readonly api: Pick<StripeApi, 'listSubscriptions' | 'retrieveCustomer'>;
  readonly nameOf: NameOf;
  readonly planSelection: PlanSelection;
  readonly keepsPaused?: boolean;
  readonly linkByMetadata?: string | null | undefined;
  readonly keyMode?: Mode | null;
  readonly logger: Logger;
  readonly now: () => number;
  readonly nonce: () => string;
};

export type ReconcileOptions = ReconcileServices & {
  /** Reports drift without repairing it. */
  readonly isDryRun: boolean;
  readonly onIssue: (issue: ReconciliationIssue) => void;
  /** How often all teams are compared, if this run is one of those: then it continues one that was interrupted. */
  readonly intervalMs?: number;
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

type ReconciliationCode =
  | 'RECONCILIATION_FAILED'
  | 'RECONCILIATION_RUNNING'
  | 'STRIPE_KEY_FORBIDDEN';

/** A reconciliation was not begun, or not completed. The repairs made until then stay. */
export class ReconciliationFailed extends CodedError<ReconciliationCode> {}

/** An older list is too outdated to compare with. */
const RESUMABLE_MS = 24 * 60 * 60 * 1_000;

type StartOptions = Pick<ReconcileOptions, 'isDryRun' | 'intervalMs' | 'now'>;

/** Where a reconciliation starts: where the last one was interrupted, if it can continue it. */
export function startOf(saved: unknown, { isDryRun, intervalMs, now }: StartOptions): Progress {
  const nowMs = now();
  const last = readProgress(saved);
  const kept = {
    completed: last?.completed ?? null,
    intervalMs: intervalMs ?? last?.intervalMs ?? null,
  };
  const isResumed =
    intervalMs !== undefined &&
    last !== null &&
    last.phase !== 'done' &&
    last.isDryRun === isDryRun &&
    nowMs - last.startedAtMs <= RESUMABLE_MS;
  if (isResumed) return { ...last, ...kept };
  const beginning = { phase: 'listing', cursor: null, afterTeamId: null } as const;
  return { ...beginning, ...kept, startedAtMs: nowMs, isDryRun, counts: NOTHING_COUNTED };
}
