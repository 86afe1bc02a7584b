// Actions on all matching issues, in the background of the console.

import type { SubjectIssueCode } from '../health/issues.ts';
import type { Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import { InstepError } from '../runtime/errors.ts';
import { retry } from '../runtime/retry.ts';
import type { ActionRequest, PerformOptions } from './actions.ts';
import { type Action, BULK, type BulkProgress, recordActions, subjectText } from './audit.ts';
import type { OperateContext, Operator } from './context.ts';
import { findActions, type RecordedAction, readBulkRecords } from './find-actions.ts';
import { findIssues } from './find-issues.ts';
import { AT_ONCE, perform } from './perform.ts';

/** What is done about every issue that matches. */
export type BulkRequest = PerformOptions & {
  readonly action: Action;
  /** The issues that it is about; `null`: all. */
  readonly code: SubjectIssueCode | null;
  /** Takes back what the bulk action with this id did, and looks for no issues. */
  readonly undoes?: string;
};

/** The name of the bulk action that takes back another one. */
const UNDOING: Readonly<Partial<Record<string, Action>>> = {
  dismiss: 'restore',
  'link-suggested': 'unlink',
};

/** Still more are left for another bulk action. */
const MAX_SUBJECTS = 100_000;

/** What a bulk action has to do, and the number of open issues to which its action does not apply. */
async function findRequests(
  context: OperateContext,
  { action, code, undoes }: BulkRequest,
  signal: AbortSignal,
): Promise<{ requests: readonly ActionRequest[]; skipped: number }> {
  const requests = new Map<string, ActionRequest>();
  let skipped = 0;
  if (undoes !== undefined) {
    for await (const { subject, undo } of findActions(context, { callId: undoes }).all()) {
      signal.throwIfAborted();
      if (undo !== null) requests.set(subject, undo);
    }
    return { requests: [...requests.values()], skipped };
  }
  for await (const { subject, remedies } of findIssues(context, code).all()) {
    signal.throwIfAborted();
    const isRemedy = remedies.some((remedy) => remedy === action);
    if (isRemedy) requests.set(subjectText(subject), { action, subject });
    else skipped += 1;
    if (requests.size === MAX_SUBJECTS) break;
  }
  return { requests: [...requests.values()], skipped };
}

/** A bulk action, and those of its actions that failed: the first 500. */
export type Bulk = BulkProgress & {
  readonly record: RecordedAction;
  readonly failures: readonly RecordedAction[];
  /** Whether `undo` can take it back. */
  readonly canUndo: boolean;
};

/** A running bulk action writes more often than this. */
const SILENT_MS = 60_000;

/** Adds to the record of a bulk action. Returns who has cancelled it. */
async function writeProgress(
  query: Query,
  callId: string,
  progress: Partial<BulkProgress>,
): Promise<string | null> {
  const [row] = await query<{ cancelledBy: string | null }>({
    name: 'write_bulk_progress',
    text: `
      update instep.operator_actions
         set outcome = outcome || $2::jsonb,
             is_done = coalesce($3, is_done)
       where form_id = $1
         and subject = '${BULK}'
      returning outcome ->> 'cancelledBy' as "cancelledBy"`,
    values: [callId, JSON.stringify(progress), isDone(progress)],
  });
  return row?.cancelledBy ?? null;
}

/** `null`: not known. */
function isDone({ state, failed }: Partial<BulkProgress>): boolean | null {
  return state === undefined ? null : state === 'done' && failed === 0;
}

/** A short outage of the database ends no bulk action. */
const RETRY = {
  isRetryable: (error: unknown) => error instanceof DatabaseUnavailable,
  firstPauseMs: 500,
  longestPauseMs: 5_000,
  maxCalls: 8,
};

/**
 * Acts on all matching issues in the background of this process. No request waits for it. The audit has its progress,
 * so that every process can show and cancel it.
 *
 * @example
 * ```ts
 * const runs = new BulkRuns(context);
 * const callId = await runs.start(operator, { action: 'dismiss', code: 'payment-due' });
 * await runs.stop();
 * console.log((await runs.read(callId))?.done); // 0
 * ```
 */
export class BulkRuns {
  #context: OperateContext;
  #stopping = new AbortController();
  #running = new Set<Promise<void>>();

  constructor(context: OperateContext) {
    this.#context = context;
  }

  /** Starts a bulk action, and returns its id. */
  async start(operator: Operator, request: BulkRequest): Promise<string> {
    const { database, nonce, now } = this.#context;
    const { action, code: issue, note = null } = request;
    const callId = nonce();
    const counts = { total: null, done: 0, failed: 0, skipped: 0 };
    const begun: BulkProgress = { issue, state: 'running', ...counts, atMs: now() };
    const result = { code: 'bulk', ...begun } as const;
    const record = { subject: BULK, action, isDone: false, result };
    await recordActions(database.query, { callId, operator, note }, [record]);
    const running = this.#run(operator, { ...request, callId }, begun);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
    return callId;
  }

  /** Starts to take back what a bulk action did. Returns the id of this one; `null` if that is not possible. */
  async undo(operator: Operator, callId: string): Promise<string | null> {
    const bulk = await this.read(callId);
    const action = bulk?.canUndo && UNDOING[bulk.record.action];
    return action ? await this.start(operator, { action, code: bulk.issue, undoes: callId }) : null;
  }

  /** How far a bulk action is, whichever process runs it; `null` if there is none with this id. */
  async read(callId: string): Promise<Bulk | null> {
    const [record, ...failures] = await readBulkRecords(this.#context.database.query, callId);
    if (record?.result.code !== 'bulk') return null;
    const { code: _, ...progress } = record.result;
    const silentMs = this.#context.now() - progress.atMs;
    const isSilent = progress.state === 'running' && silentMs > SILENT_MS;
    const state = isSilent ? 'interrupted' : progress.state;
    const isUndoable = UNDOING[record.action] !== undefined;
    const canUndo = isUndoable && state !== 'running' && progress.done > 0;
    return { ...progress, state, record, failures, canUndo };
  }

  /** Ends a bulk action after the actions that are on their way, whichever process runs it. What was done stays. */
  async cancel({ name: cancelledBy }: Operator, callId: string): Promise<void> {
    if ((await this.read(callId))?.state !== 'running') return;
    await writeProgress(this.#context.database.query, callId, { cancelledBy });
  }

  /** Ends the bulk actions of this process after the actions that are on their way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #run(
    operator: Operator,
    request: BulkRequest & { readonly callId: string },
    begun: BulkProgress,
  ): Promise<void> {
    const { database, logger, now } = this.#context;
    const { signal } = this.#stopping;
    const { action, callId } = request;
    const throughOutages = async <Result>(call: () => Promise<Result>) =>
      // A process that stops has no time for more than one attempt.
      await retry(call, signal.aborted ? { ...RETRY, maxCalls: 1 } : { ...RETRY, signal });
    let progress = begun;
    const write = async (change: Partial<BulkProgress>) => {
      progress = { ...progress, ...change, atMs: now() };
      return await throughOutages(() => writeProgress(database.query, callId, progress));
    };
    try {
      const { requests, skipped } = await findRequests(this.#context, request, signal);
      let cancelledBy = await write({ total: requests.length, skipped });
      let next = 0;
      while (next < requests.length && cancelledBy === null && !signal.aborted) {
        const batch = requests.slice(next, next + AT_ONCE);
        const performed = await throughOutages(() =>
          perform(this.#context, operator, batch, request),
        );
        next += batch.length;
        const done = performed.results.filter(({ isDone }) => isDone).length;
        cancelledBy = await write({
          done: progress.done + done,
          failed: progress.failed + performed.results.length - done,
          skipped: progress.skipped + performed.skipped,
        });
      }
      const ended = cancelledBy === null ? 'interrupted' : 'cancelled';
      await write({ state: next < requests.length ? ended : 'done' });
      logger.info({ action, callId, ...progress }, 'bulk action ended');
    } catch (err) {
      logger.warn({ err, action, callId }, 'bulk action failed');
      const state = signal.aborted ? 'interrupted' : 'failed';
      const error = !signal.aborted && err instanceof InstepError ? { error: err.code } : {};
      // Without the database, readers see that it writes no more.
      await write({ state, ...error }).catch((err) => logger.warn({ err, callId }, 'not recorded'));
    }
  }
}
