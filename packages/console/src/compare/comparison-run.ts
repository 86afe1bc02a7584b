import { InstepError, type OperateContext, type Operator, reconcileTeams } from 'instep-operate';

/** Listing ten million subscriptions takes half of this. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

/** Runs one dry run at a time in this process. No request waits for it. What it has found is in the database. */
export class ComparisonRun {
  #context: OperateContext;
  #stopping = new AbortController();
  #running: Promise<void> | null = null;

  /** The code of the error of the last one, `other` for an unexpected one; `null`: it has not failed. */
  error: string | null = null;

  constructor(context: OperateContext) {
    this.#context = context;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Starts a comparison, unless one is running. */
  start(operator: Operator): void {
    this.#running ??= this.#run(operator).finally(() => {
      this.#running = null;
    });
  }

  /** Aborts the comparison, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(operator: Operator): Promise<void> {
    const { logger } = this.#context;
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DEADLINE_MS)]);
    this.error = null;
    try {
      const counts = await reconcileTeams(this.#context, operator, { isDryRun: true, signal });
      logger.info({ isDryRun: true, ...counts }, 'reconciled');
    } catch (err) {
      logger.warn({ isDryRun: true, err }, 'reconciliation failed');
      const code = err instanceof InstepError ? err.code : 'other';
      this.error = this.#stopping.signal.aborted ? 'SHUTTING_DOWN' : code;
    }
  }
}
