// Which jobs fail: `worker.ts` stores it, and operators read it.

import type { Query } from '../postgres/database.ts';
import { DatabaseUnavailable } from '../postgres/errors.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logging.ts';

/** Stores which jobs of this process fail, for whoever looks at the health, in any process. */
export class FailedJobs {
  #query: Query;
  #logger: Logger;
  /** The jobs that have succeeded since they last failed. Before, one can be stored as failed by an earlier process. */
  #fine = new Set<string>();

  constructor(query: Query, logger: Logger) {
    this.#query = query;
    this.#logger = logger;
  }

  async failed(job: string, error: unknown, attemptInMs: number): Promise<void> {
    // Nothing can be stored then, and the pages say so themselves.
    if (error instanceof DatabaseUnavailable) return;
    this.#fine.delete(job);
    const code = error instanceof InstepError ? error.code : 'other';
    await this.#store({
      name: 'store_failed_job',
      text: `
        insert into instep.leased_jobs as job
               (name, failure_code, failing_since, failed_at, attempt_at)
        values ($1, $2, now(), now(), now() + $3 * interval '1 millisecond')
            on conflict (name) do update
           set failure_code  = excluded.failure_code,
               failing_since = coalesce(job.failing_since, excluded.failing_since),
               failed_at     = excluded.failed_at,
               attempt_at    = excluded.attempt_at`,
      values: [job, code, attemptInMs],
    });
  }

  async succeeded(job: string): Promise<void> {
    if (this.#fine.has(job)) return;
    const text = `
        update instep.leased_jobs
           set failure_code  = null,
               failing_since = null,
               failed_at     = null,
               attempt_at    = null
         where name = $1
           and failure_code is not null`;
    if (await this.#store({ name: 'clear_failed_job', text, values: [job] })) this.#fine.add(job);
  }

  /** A report must not stop the job that it is about. */
  async #store(statement: Parameters<Query>[0]): Promise<boolean> {
    try {
      await this.#query(statement);
      return true;
    } catch (err) {
      this.#logger.debug({ err }, 'the state of a job was not stored');
      return false;
    }
  }
}
