import type { Counts, StepProgress } from '../maintenance/reconcile/progress.ts';
import { InstepError } from '../runtime/errors.ts';
import { reconcileTeams } from './compare.ts';
import type { OperateContext, Operator } from './context.ts';

/** The reconciliation that was started in this process. */
export type RunState =
  | { readonly kind: 'none' }
  | (Begun & { readonly kind: 'running'; readonly progress: StepProgress | null })
  | (Begun & { readonly kind: 'done'; readonly endedAtMs: number; readonly counts: Counts })
  | (Begun & {
      readonly kind: 'failed';
      readonly endedAtMs: number;
      /** The code of the error. */
      readonly error: string | null;
    });

type Begun = { readonly isDryRun: boolean; readonly startedAtMs: number };

/** Listing ten million subscriptions takes half of this. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

/**
 * Runs one reconciliation at a time in this process. No request waits for it.
 *
 * @example
 * ```ts
 * import { openContext, ReconcileRun } from 'instep/operate';
 *
 * const context = await openContext();
 * const run = new ReconcileRun(context);
 * console.log(run.state.kind); // none
 * await run.stop();
 * await context.close();
 * ```
 */
export class ReconcileRun {
  #context: OperateContext;
  #stopping = new AbortController();
  #state: RunState = { kind: 'none' };
  #running = Promise.resolve();

  constructor(context: OperateContext) {
    this.#context = context;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Starts a reconciliation, unless one is running. */
  start(operator: Operator, isDryRun: boolean): void {
    if (this.#state.kind === 'running') return;
    const startedAtMs = this.#context.now();
    this.#state = { kind: 'running', isDryRun, startedAtMs, progress: null };
    this.#running = this.#run(operator, isDryRun);
  }

  /** Aborts the reconciliation, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(operator: Operator, isDryRun: boolean): Promise<void> {
    const { now, logger } = this.#context;
    const request = {
      isDryRun,
      onProgress: (progress: StepProgress) => this.#update(progress),
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DEADLINE_MS)]),
    };
    try {
      const counts = await reconcileTeams(this.#context, operator, request);
      logger.info({ isDryRun, ...counts }, 'reconciled');
      this.#end({ kind: 'done', endedAtMs: now(), counts });
    } catch (err) {
      logger.warn({ isDryRun, err }, 'reconciliation failed');
      const error = this.#stopping.signal.aborted ? 'SHUTTING_DOWN' : codeOf(err);
      this.#end({ kind: 'failed', endedAtMs: now(), error });
    }
  }

  #update(progress: StepProgress): void {
    if (this.#state.kind === 'running') this.#state = { ...this.#state, progress };
  }

  #end(end: Ending<'done'> | Ending<'failed'>): void {
    if (this.#state.kind !== 'running') return;
    const { isDryRun, startedAtMs } = this.#state;
    this.#state = { isDryRun, startedAtMs, ...end };
  }
}

const codeOf = (error: unknown) => (error instanceof InstepError ? error.code : null);

type Ending<Kind> = Omit<Extract<RunState, { kind: Kind }>, keyof Begun>;
