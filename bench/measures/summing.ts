import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from '../database/bench-postgres.ts';

const LOOK_AGAIN_MS = 100;
const DEADLINE_MS = 60_000;
const SECOND_MS = 1_000;

/**
 * Controls how a running server sums the statistics of a log, which it does backward from the newest event.
 * It rests while the database claims that it has reached the first event.
 */
export class Summing {
  readonly #ask: Ask;
  /** The position at which summing continues after the rest. */
  #restsAt = 0;
  #resumedAtMs: number | null = null;
  #activeMs = 0;
  #summed = 0;

  /** For a server that has just started. */
  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async rest(): Promise<void> {
    if (this.#resumedAtMs === null) await this.#until((position) => position !== null);
    else this.#activeMs += performance.now() - this.#resumedAtMs;
    const [row] = await this.#ask<{ position: string }>(
      `update instep.statistics_progress
          set after_position = 0
         from (select after_position as position from instep.statistics_progress for update) as before
       returning position`,
    );
    const position = Number(row?.position);
    if (this.#resumedAtMs !== null) this.#summed += this.#restsAt - position;
    this.#restsAt = position;
  }

  /** Resolves when the server has noticed. */
  async resume(): Promise<void> {
    if (this.#restsAt === 0) throw new Error('the statistics are complete: use more --events');
    await this.#ask('update instep.statistics_progress set after_position = $1', [this.#restsAt]);
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
        'select max(after_position) as position from instep.statistics_progress',
      );
      const position = row?.position ?? null;
      if (isReached(position === null ? null : Number(position))) return;
      await sleep(LOOK_AGAIN_MS);
    }
    throw new Error('the server does not sum the statistics');
  }
}
