import {
  type Counts,
  InstepError,
  type OperateContext,
  type Operator,
  reconcileTeams,
  type StepProgress,
} from 'instep/operate';

type Begun = { readonly isDryRun: boolean; readonly startedAtMs: number };
type Ended = Begun & { readonly endedAtMs: number };

/** The reconciliation that was started in this process. */
export type RunState =
  | { readonly kind: 'none' }
  | (Begun & { readonly kind: 'running'; readonly progress: StepProgress | null })
  | (Ended & { readonly kind: 'done'; readonly counts: Counts })
  /** `error`: its code. */
  | (Ended & { readonly kind: 'failed'; readonly error: string | null });

/** Listing ten million subscriptions takes half of this. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

/** Runs one reconciliation at a time in this process. No request waits for it. */
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
    if (this.#state.kind !== 'running') this.#running = this.#run(operator, isDryRun);
  }

  /** Aborts the reconciliation, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(operator: Operator, isDryRun: boolean): Promise<void> {
    const { now, logger } = this.#context;
    const begun = { isDryRun, startedAtMs: now() };
    this.#state = { kind: 'running', ...begun, progress: null };
    try {
      const counts = await reconcileTeams(this.#context, operator, {
        isDryRun,
        onProgress: (progress) => {
          this.#state = { kind: 'running', ...begun, progress };
        },
        signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DEADLINE_MS)]),
      });
      logger.info({ isDryRun, ...counts }, 'reconciled');
      this.#state = { kind: 'done', ...begun, endedAtMs: now(), counts };
    } catch (err) {
      logger.warn({ isDryRun, err }, 'reconciliation failed');
      const error = this.#stopping.signal.aborted ? 'SHUTTING_DOWN' : codeOf(err);
      this.#state = { kind: 'failed', ...begun, endedAtMs: now(), error };
    }
  }
}

const codeOf = (error: unknown) => (error instanceof InstepError ? error.code : null);
