import { setTimeout as sleep } from 'node:timers/promises';
import { pruneEvents, pruneLog } from 'instep/src/event-log/prune.ts';
import type { Database, Query } from 'instep/src/postgres/database.ts';
import type { Ask, BenchDatabase } from '../database/bench-postgres.ts';
import { openInstepDatabase } from '../database/instep-database.ts';
import { canMeasureUse, useOf } from '../processes/process-tree.ts';
import { writtenBytes } from './event-bytes.ts';

/** The costs of deleting a log's expired events. */
export type DeletionCosts = {
  readonly deleted: number;
  /** The events deleted per second without any load. */
  readonly perSecond: number;
  /** Bytes of the write-ahead log per event. */
  readonly writtenBytes: number;
  /** PostgreSQL's processor time per event; `null` if unknown. */
  readonly postgresCpuUs: number | null;
  readonly deadRows: number;
  readonly vacuumSeconds: number;
  /**
   * The expired events that the ordering rule still needs, and how long the next run takes to examine them.
   */
  readonly kept: number;
  readonly nextRunSeconds: number;
};

const LOOK_AGAIN_MS = 10;
const SECOND_MS = 1_000;

/** How long the deletion is measured without any load. */
const ALONE_MS = 60_000;

/** Deletes the expired events of a log as maintenance does, but can be interrupted. */
export class Deletion {
  readonly #database: Database;
  readonly #ask: Ask;
  readonly #cutoffMs: number;
  readonly #stopping = new AbortController();
  #isResting = false;
  #work: Promise<number> | null = null;
  #deleted = 0;

  constructor({ url, ask }: BenchDatabase, cutoffMs: number) {
    this.#database = openInstepDatabase(url);
    this.#ask = ask;
    this.#cutoffMs = cutoffMs;
  }

  async rest(): Promise<void> {
    this.#isResting = true;
  }

  async resume(): Promise<void> {
    this.#isResting = false;
    this.#work ??= this.#prune(this.#stopping.signal);
  }

  /**
   * Deletes events without any load for a while, then the remaining expired ones without pauses, and vacuums
   * the log.
   */
  async complete(postgresPid: number | null): Promise<DeletionCosts> {
    const deletedBefore = this.#deleted;
    const writtenBefore = await writtenBytes(this.#ask);
    const cpuBefore = cpuMsOf(postgresPid);
    await this.resume();
    const seconds = await secondsOf(() => Promise.race([this.#work, sleep(ALONE_MS)]));
    const alone = this.#deleted - deletedBefore;
    const cpuMs = cpuMsOf(postgresPid);
    const written = (await writtenBytes(this.#ask)) - writtenBefore;
    this.#stopping.abort();
    await this.#work;
    await this.#deleteWithoutPauses();
    const [rows] = await this.#ask<{ dead: string }>(
      `select n_dead_tup as dead
         from pg_stat_user_tables
        where relid = 'instep.events'::regclass`,
    );
    return {
      deleted: this.#deleted,
      perSecond: alone / seconds,
      writtenBytes: written / alone,
      postgresCpuUs:
        cpuMs === null || cpuBefore === null ? null : ((cpuMs - cpuBefore) * 1_000) / alone,
      deadRows: Number(rows?.dead),
      vacuumSeconds: await secondsOf(() => this.#ask('vacuum instep.events')),
      kept: await this.#countExpired(),
      nextRunSeconds: await secondsOf(() => this.#prune(new AbortController().signal)),
    };
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#isResting = false;
    await this.#work;
    await this.#database.close();
  }

  async #deleteWithoutPauses(): Promise<void> {
    let afterPosition: number | null = 0;
    while (afterPosition !== null) {
      const step = { afterPosition, cutoffMs: this.#cutoffMs };
      const { count, lastPosition } = await pruneEvents(this.#database.query, step);
      this.#deleted += count;
      afterPosition = lastPosition;
    }
  }

  #prune(signal: AbortSignal): Promise<number> {
    const query: Query = async (statement, values) => {
      while (this.#isResting) await sleep(LOOK_AGAIN_MS);
      return await this.#database.query(statement, values);
    };
    const before = this.#deleted;
    const onProgress = (pruned: number) => {
      this.#deleted = before + pruned;
    };
    return pruneLog({ query, cutoffMs: this.#cutoffMs, onProgress }, signal);
  }

  async #countExpired(): Promise<number> {
    const [row] = await this.#ask<{ count: string }>(
      'select count(*) from instep.events where received_at < $1',
      [new Date(this.#cutoffMs)],
    );
    return Number(row?.count);
  }
}

const cpuMsOf = (pid: number | null) =>
  pid === null || !canMeasureUse() ? null : useOf(pid).cpuMs;

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return (performance.now() - startedAtMs) / SECOND_MS;
}
