import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from '../database/bench-postgres.ts';

const LOOK_AGAIN_MS = 100;
const DEADLINE_MS = 60_000;
const SECOND_MS = 1_000;

const RENEW_MS = 30_000;

/** Events that arrive meanwhile. */
const NEARLY = 10_000;

const HOLD = `
  update instep.leased_jobs
     set holder     = 'bench',
         held_until = now() + interval '2 minutes'
   where name = 'statistics'
  returning (progress ->> 'upTo')::bigint as position,
            (select max(position) from instep.events) as newest`;

const RELEASE = `
  update instep.leased_jobs
     set holder     = null,
         held_until = null
   where name = 'statistics'`;

/**
 * Controls how a running server sums the statistics of a log, which it does from the oldest event that is shown.
 * It rests while the benchmark holds the lease of the job.
 */
export class Summing {
  readonly #ask: Ask;
  /** The position at which summing continues after the rest. */
  #restsAt = 0;
  #isComplete = false;
  #resumedAtMs: number | null = null;
  #holding: NodeJS.Timeout | undefined;
  #activeMs = 0;
  #summed = 0;

  /** For a server that has just started. */
  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async rest(): Promise<void> {
    if (this.#resumedAtMs === null) await this.#until((position) => position !== null);
    else this.#activeMs += performance.now() - this.#resumedAtMs;
    const [row] = await this.#ask<{ position: string; newest: string }>(HOLD);
    this.#holding = setInterval(() => void this.#ask(HOLD), RENEW_MS).unref();
    const position = Number(row?.position);
    if (this.#resumedAtMs !== null) this.#summed += position - this.#restsAt;
    this.#restsAt = position;
    this.#isComplete = position >= Number(row?.newest) - NEARLY;
  }

  /** Resolves when the server has noticed. */
  async resume(): Promise<void> {
    if (this.#isComplete) throw new Error('the statistics are complete: use more --events');
    clearInterval(this.#holding);
    await this.#ask(RELEASE);
    await this.#until((position) => position !== this.#restsAt);
    this.#resumedAtMs = performance.now();
  }

  /** Events per second under load. */
  perSecond(): number {
    return (this.#summed * SECOND_MS) / this.#activeMs;
  }

  async #until(isReached: (position: number | null) => boolean): Promise<void> {
    const startedAtMs = performance.now();
    while (performance.now() - startedAtMs < DEADLINE_MS) {
      const [row] = await this.#ask<{ position: string | null }>(
        `select progress ->> 'upTo' as position from instep.leased_jobs where name = 'statistics'`,
      );
      const position = row?.position ?? null;
      if (isReached(position === null ? null : Number(position))) return;
      await sleep(LOOK_AGAIN_MS);
    }
    throw new Error('the server does not sum the statistics');
  }
}
