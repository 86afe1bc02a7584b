import { withLease } from '../../../maintenance/lease.ts';
import type { Counts, Finding } from '../../../maintenance/reconcile/finding.ts';
import { interruptionOf } from '../../../maintenance/reconcile/interruption.ts';
import type { Progressing } from '../../../maintenance/reconcile/options.ts';
import { reconcileAll } from '../../../maintenance/reconcile/reconcile-all.ts';
import { estimateListed } from '../../../queries/listed-subscriptions.ts';
import { countLinkedTeams } from '../../../queries/teams.ts';
import { InstepError } from '../../../runtime/errors.ts';
import type { ConsoleOptions } from '../options.ts';
import type { MakeReconcileOptions } from './create-options.ts';

/** What was found: all of it counted, and the first of it kept. */
export type Found = { readonly first: readonly Finding[]; readonly count: number };

/** How it stands with the reconciliation that was started here. */
export type RunState =
  | { readonly kind: 'none' }
  | (Begun & { readonly kind: 'running'; readonly progress: RunProgress | null })
  | (Begun & { readonly kind: 'done'; readonly endedAtMs: number; readonly counts: Counts })
  | (Begun & { readonly kind: 'failed'; readonly endedAtMs: number; readonly reason: string });

type Begun = { readonly isDryRun: boolean; readonly beganAtMs: number; readonly found: Found };

export type RunProgress = {
  readonly of: Progressing;
  readonly done: number;
  /** About as many there are; `null` when nobody knows. */
  readonly total: number | null;
};

const MAX_FOUND = 1_000;

/** Whatever hangs is given up in the end. To list ten million subscriptions takes half of it. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

const TAKEN =
  'another reconciliation is under way: try again when it is done, or two minutes after its end if ' +
  'it was killed';

/** The reconciliation of this process: one at a time, and no request waits for it. */
export class ReconcileRun {
  readonly #options: ConsoleOptions;
  readonly #makeOptions: MakeReconcileOptions;
  #state: RunState = { kind: 'none' };

  constructor(options: ConsoleOptions, makeOptions: MakeReconcileOptions) {
    this.#options = options;
    this.#makeOptions = makeOptions;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Begins one, unless one is under way here. */
  start(isDryRun: boolean): void {
    if (this.#state.kind === 'running') return;
    const { now, background } = this.#options;
    const found = { first: [], count: 0 };
    this.#state = { kind: 'running', isDryRun, beganAtMs: now(), found, progress: null };
    background.start((signal) => this.#run(isDryRun, signal));
  }

  async #run(isDryRun: boolean, stopping: AbortSignal): Promise<void> {
    const { now, logger } = this.#options;
    try {
      const counts = await this.#reconcile(isDryRun, stopping);
      logger.info({ isDryRun, ...counts }, 'reconciled');
      this.#end({ kind: 'done', endedAtMs: now(), counts });
    } catch (error) {
      logger.warn({ isDryRun, err: error }, 'reconciliation failed');
      this.#end({ kind: 'failed', endedAtMs: now(), reason: reasonOf(error) });
    }
  }

  async #reconcile(isDryRun: boolean, stopping: AbortSignal): Promise<Counts> {
    const { database, nonce } = this.#options;
    const { query } = database;
    const totals = {
      subscriptions: await estimateListed(query),
      teams: await countLinkedTeams(query),
      customers: null,
    };
    const options = this.#makeOptions({
      isDryRun,
      onFinding: (finding) => this.#find(finding),
      onProgress: (of, done) => this.#update({ progress: { of, done, total: totals[of] } }),
    });
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(DEADLINE_MS)]);
    const walker = { name: 'reconcile', holder: nonce(), dueAfterMs: 0 };
    let counts: Counts | undefined;
    await withLease(query, walker, async (walk) => {
      counts = await reconcileAll(walk, { ...options, mayResume: false }, signal);
    });
    if (counts === undefined) throw new Reconciling(TAKEN);
    return counts;
  }

  #find(finding: Finding): void {
    if (this.#state.kind !== 'running') return;
    const { first, count } = this.#state.found;
    const kept = count < MAX_FOUND ? [...first, finding] : first;
    this.#update({ found: { first: kept, count: count + 1 } });
  }

  #update(change: { readonly found: Found } | { readonly progress: RunProgress }): void {
    if (this.#state.kind === 'running') this.#state = { ...this.#state, ...change };
  }

  #end(end: Ending<'done'> | Ending<'failed'>): void {
    if (this.#state.kind !== 'running') return;
    const { isDryRun, beganAtMs, found } = this.#state;
    this.#state = { isDryRun, beganAtMs, found, ...end };
  }
}

type Ending<Kind> = Omit<Extract<RunState, { kind: Kind }>, keyof Begun>;

/** Somebody else reconciles. */
class Reconciling extends InstepError {
  readonly code = 'RECONCILIATION_RUNNING';
}

function reasonOf(error: unknown): string {
  const why = interruptionOf(error)?.reason;
  if (why !== undefined) return why;
  return error instanceof InstepError ? error.message : "the server's log has the error";
}
