// How the jobs for parked events and empty teams find whom to repair, and leave alone whom they can't repair now.

import { canOthersSucceed } from '../postgres/errors.ts';
import type { Examined } from '../postgres/examine.ts';
import type { DuePage } from '../postgres/statements/teams.ts';
import type { Logger } from '../runtime/logging.ts';
import { type InTurn, sweep } from './lease.ts';

type RepairsOptions = {
  readonly logger: Logger;
  /** The name of the ids in log lines. */
  readonly subject: 'teamId' | 'customerId';
  /** The log line for a repair that failed. */
  readonly message: string;
  /** Limits how often what is due is read; by default, it is read at any time. */
  readonly inTurn?: InTurn | undefined;
  /** For how long one that was not repaired is left alone. */
  readonly againAfterMs?: number | undefined;
};

const BATCH = 200;

/** Also when it is due earlier: the interval of a job is that of its searches. */
const AGAIN_AFTER_MS = 10_000;

const AT_ONCE: InTurn = (read) => read({ progress: null, complete: async () => undefined });

/**
 * What the jobs share that search teams or customers and repair them one by one: whose turn it is, where the last search
 * ended, and which of them are left alone for a while, because they could not be repaired, so that they delay no others.
 */
export class Repairs {
  #options: RepairsOptions;
  #leftAloneUntilMs = new Map<string, number>();

  constructor(options: RepairsOptions) {
    this.#options = options;
  }

  /** The ids of the next ones to repair. A turn is as long as the reads: a slow repair must not delay the next turn. */
  async findDue(find: (page: DuePage) => Promise<Examined<string>>): Promise<readonly string[]> {
    for (const [id, untilMs] of this.#leftAloneUntilMs) {
      if (performance.now() >= untilMs) this.#leftAloneUntilMs.delete(id);
    }
    const page = { limit: BATCH, exceptIds: [...this.#leftAloneUntilMs.keys()] };
    const { inTurn = AT_ONCE } = this.#options;
    return (await inTurn((run) => sweep(run, (afterId) => find({ afterId, ...page }), page))) ?? [];
  }

  /** Returns whether the repair changed anything. */
  async attempt(id: string, repair: () => Promise<boolean>): Promise<boolean> {
    const { logger, subject, message, againAfterMs = AGAIN_AFTER_MS } = this.#options;
    try {
      if (await repair()) return true;
    } catch (err) {
      if (!canOthersSucceed(err)) throw err;
      logger.warn({ [subject]: id, err }, message);
    }
    this.#leftAloneUntilMs.set(id, performance.now() + againAfterMs);
    return false;
  }
}
