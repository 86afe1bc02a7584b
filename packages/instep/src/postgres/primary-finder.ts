// Which of several servers is the primary. pools.ts asks before each connection; the doctor reads the same state.

import { withDeadline } from '../runtime/deadline.ts';
import { DatabaseUnavailable, sqlState } from './errors.ts';

/** The state of a server that shows whether it is the primary. */
export type ReplicationState = {
  /** The server's actual role, regardless of settings of the session or the database. */
  readonly isStandby: boolean;
  /** The same for a server and its copies; `null` when the role can't read it. */
  readonly systemId: string | null;
  /** Grows by 1 with each promotion; `null` when the role can't read it. */
  readonly timeline: number | null;
};

/** Runs a statement without values on one server, and returns its rows. */
export type Ask = <Row extends object>(text: string) => Promise<Row[]>;

const IS_STANDBY = 'pg_is_in_recovery() as "isStandby"';

/**
 * Any role can read this by default. A standby reports the timeline that it receives, which only a role with
 * pg_read_all_stats can read. For other roles it is the timeline of the last checkpoint, which can be older.
 */
const READ_STATE = `
  select ${IS_STANDBY},
         (select system_identifier::text from pg_control_system()) as "systemId",
         case when pg_is_in_recovery()
              then coalesce((select received_tli from pg_stat_wal_receiver),
                            (select timeline_id from pg_control_checkpoint()))
              else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
         end as timeline`;

const READ_WITHOUT_TIMELINE = `
  select ${IS_STANDBY}, null as "systemId", null as timeline`;

/** PostgreSQL's states for a missing privilege or function. */
const NOT_READABLE = new Set(['42501', '42883']);

export async function readReplicationState(ask: Ask): Promise<ReplicationState> {
  const [state] = await ask<ReplicationState>(READ_STATE).catch(async (error: unknown) => {
    if (!NOT_READABLE.has(sqlState(error))) throw error;
    return await ask<ReplicationState>(READ_WITHOUT_TIMELINE);
  });
  return state ?? { isStandby: true, systemId: null, timeline: null };
}

type PrimaryFinderOptions = {
  /** One for each server: asks it for its state. */
  servers: readonly (() => Promise<ReplicationState>)[];
  /** Called for each server whose connections must no longer be used. */
  onLeave: (index: number) => void;
  clockMs: () => number;
};

/** After this time, the servers are asked again, while requests continue. */
const REFRESH_AFTER_MS = 1_000;

/** Older answers don't count: the next request waits until the servers have answered again. */
const VALID_MS = 2_500;

const ANSWER_TIMEOUT_MS = 1_000;

/**
 * Finds the primary among several servers: the one on the newest timeline that is not a standby. An old
 * primary that has not noticed its replacement is not a standby either, but on an older timeline.
 *
 * Requests trigger the queries, at most once a second. There is no timer, so an idle process asks nothing.
 */
export class PrimaryFinder {
  #options: PrimaryFinderOptions;
  /** The last answers; `silent` for a server that gave none in time. */
  #states: (ReplicationState | 'silent' | undefined)[];
  /** The newest timeline that any server has reported, of each system. */
  #newest = new Map<string | null, number>();
  #current = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(options: PrimaryFinderOptions) {
    this.#options = options;
    this.#states = options.servers.map(() => undefined);
  }

  async find(): Promise<number> {
    if (this.#options.servers.length > 1) {
      const ageMs = this.#options.clockMs() - this.#askedAtMs;
      if (ageMs > REFRESH_AFTER_MS) this.#asking ??= this.#ask();
      if (ageMs > VALID_MS) await this.#asking;
    }
    return this.#current;
  }

  /** A connection to this server was made and checked. */
  setCurrent(index: number): void {
    this.#current = index;
  }

  /** A statement or connection of the current server has failed: try the next one, and ask all. */
  suspect(): void {
    if (this.#options.servers.length <= 1) return;
    this.#current = (this.#current + 1) % this.#options.servers.length;
    this.#askedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** @throws DatabaseUnavailable when the server was replaced */
  verify(state: ReplicationState): void {
    this.#learn(state);
    if (this.#isReplaced(state)) {
      throw new DatabaseUnavailable(
        `the server was replaced as the primary: it is on timeline ${state.timeline}, the newest ` +
          `is ${this.#newestOf(state.systemId)}; start the new primary`,
      );
    }
  }

  /** Resolves when every server that answered the last time has answered again. */
  async #ask(): Promise<void> {
    const startedAtMs = this.#options.clockMs();
    const answers = this.#options.servers.map(async (read, index) => {
      const isAwaited = this.#states[index] !== 'silent';
      const answer = withDeadline(read(), ANSWER_TIMEOUT_MS)
        .catch(() => 'silent' as const)
        .then((state) => this.#receive(index, state));
      if (isAwaited) await answer;
    });
    await Promise.all(answers);
    this.#askedAtMs = startedAtMs;
    this.#asking = null;
  }

  #receive(index: number, state: ReplicationState | 'silent'): void {
    this.#states[index] = state;
    if (state !== 'silent') this.#learn(state);
    const servers = [...this.#states.keys()];
    if (this.#states[this.#current] !== undefined && !this.#isPrimary(this.#current)) {
      const fromCurrent = servers.map((offset) => (this.#current + offset) % servers.length);
      this.#current = fromCurrent.find((server) => this.#isPrimary(server)) ?? this.#current;
    }
    const isFound = this.#isPrimary(this.#current);
    for (const server of servers) {
      const answer = this.#states[server];
      const hasAnswered = answer !== undefined && answer !== 'silent';
      const isUnfit = hasAnswered && !this.#isPrimary(server);
      if (isUnfit || (isFound && server !== this.#current)) this.#options.onLeave(server);
    }
  }

  #learn({ systemId, timeline }: ReplicationState): void {
    if (timeline !== null && timeline > this.#newestOf(systemId)) {
      this.#newest.set(systemId, timeline);
    }
  }

  #newestOf(systemId: string | null): number {
    return this.#newest.get(systemId) ?? 0;
  }

  #isReplaced({ systemId, timeline }: ReplicationState): boolean {
    return timeline !== null && timeline < this.#newestOf(systemId);
  }

  #isPrimary(index: number): boolean {
    const state = this.#states[index];
    if (state === undefined || state === 'silent') return false;
    return !state.isStandby && !this.#isReplaced(state);
  }
}
