import type { Counts, Finding, StepProgress } from 'instep/operate';
import {
  type Background,
  InstepError,
  type ReconcileServices,
  reconcile,
} from 'instep/operate/inside';

/** All findings are counted, but only the first ones are kept. */
export type Found = { readonly first: readonly Finding[]; readonly count: number };

/** The reconciliation that was started in this process. */
export type RunState =
  | { readonly kind: 'none' }
  | (Begun & { readonly kind: 'running'; readonly progress: StepProgress | null })
  | (Begun & { readonly kind: 'done'; readonly endedAtMs: number; readonly counts: Counts })
  | (Begun & { readonly kind: 'failed'; readonly endedAtMs: number; readonly reason: string });

type Begun = { readonly isDryRun: boolean; readonly startedAtMs: number; readonly found: Found };

/** Whether a repair can change what the run has found. */
export function isDryRunDone(state: RunState): state is Extract<RunState, { kind: 'done' }> {
  return state.kind === 'done' && state.isDryRun;
}

/** If there are more findings, the configuration is wrong and not the teams. */
const MAX_FOUND = 10_000;

/** Listing ten million subscriptions takes half of this. */
const DEADLINE_MS = 6 * 60 * 60 * 1_000;

/** Runs one reconciliation at a time in this process. No request waits for it. */
export class ReconcileRun {
  readonly #services: ReconcileServices;
  readonly #background: Background;
  #state: RunState = { kind: 'none' };

  constructor(services: ReconcileServices, background: Background) {
    this.#services = services;
    this.#background = background;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Starts a reconciliation, unless one is running. */
  start(isDryRun: boolean): void {
    if (this.#state.kind === 'running') return;
    const found = { first: [], count: 0 };
    const startedAtMs = this.#services.now();
    this.#state = { kind: 'running', isDryRun, startedAtMs, found, progress: null };
    this.#background.start((signal) => this.#run(isDryRun, signal));
  }

  async #run(isDryRun: boolean, stopping: AbortSignal): Promise<void> {
    const { now, logger } = this.#services;
    const options = {
      ...this.#services,
      isDryRun,
      resume: 'no',
      onFinding: (finding: Finding) => this.#find(finding),
      onProgress: (progress: StepProgress) => this.#update({ progress }),
    } as const;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(DEADLINE_MS)]);
    try {
      const counts = await reconcile(options, signal);
      logger.info({ isDryRun, ...counts }, 'reconciled');
      this.#end({ kind: 'done', endedAtMs: now(), counts });
    } catch (error) {
      logger.warn({ isDryRun, err: error }, 'reconciliation failed');
      const isOurs = error instanceof InstepError;
      const reason = isOurs ? error.message : "the server's log has the error";
      this.#end({ kind: 'failed', endedAtMs: now(), reason });
    }
  }

  #find(finding: Finding): void {
    if (this.#state.kind !== 'running') return;
    const { first, count } = this.#state.found;
    const kept = count < MAX_FOUND ? [...first, finding] : first;
    this.#update({ found: { first: kept, count: count + 1 } });
  }

  #update(change: { readonly found: Found } | { readonly progress: StepProgress }): void {
    if (this.#state.kind === 'running') this.#state = { ...this.#state, ...change };
  }

  #end(end: Ending<'done'> | Ending<'failed'>): void {
    if (this.#state.kind !== 'running') return;
    const { isDryRun, startedAtMs, found } = this.#state;
    this.#state = { isDryRun, startedAtMs, found, ...end };
  }
}

type Ending<Kind> = Omit<Extract<RunState, { kind: Kind }>, keyof Begun>;
