import { InstepError, type OperateContext, type Operator, perform } from 'instep/operate';

/** The reconciliation that was started in this process; what one has found is in the database. */
export type RunState = {
  readonly isRunning: boolean;
  /** The code of the error of one that failed; `null`: another error. */
  readonly error?: string | null;
};

/** Listing ten million subscriptions takes half of this. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

/** Runs one dry run at a time in this process. No request waits for it. */
export class ReconcileRun {
  #context: OperateContext;
  #stopping = new AbortController();
  #state: RunState = { isRunning: false };
  #running = Promise.resolve();

  constructor(context: OperateContext) {
    this.#context = context;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Starts a reconciliation, unless one is running. */
  start(operator: Operator): void {
    if (!this.#state.isRunning) this.#running = this.#run(operator);
  }

  /** Aborts the reconciliation, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(operator: Operator): Promise<void> {
    const { logger } = this.#context;
    this.#state = { isRunning: true };
    try {
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DEADLINE_MS)]);
      const task = { action: 'reconcile', isDryRun: true, signal } as const;
      const [run] = (await perform(this.#context, operator, [task])).results;
      if (run?.error !== undefined) throw run.error;
      logger.info({ isDryRun: true, ...run?.result }, 'reconciled');
      this.#state = { isRunning: false };
    } catch (err) {
      logger.warn({ isDryRun: true, err }, 'reconciliation failed');
      const error = this.#stopping.signal.aborted ? 'SHUTTING_DOWN' : codeOf(err);
      this.#state = { isRunning: false, error };
    }
  }
}

const codeOf = (error: unknown) => (error instanceof InstepError ? error.code : null);
