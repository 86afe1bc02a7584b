import type { Entrant } from '../contestants/entrant.ts';
import { WEBHOOK_SECRET } from '../contestants/settings.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Load, Requests } from '../load/job.ts';
import { LoadProcess } from '../load/load-process.ts';
import { canTellUse, type Use, useOf } from '../processes/process-tree.ts';
import { type ServerProcess, startServer } from '../processes/server-process.ts';
import { auditEvents } from './audit.ts';

/** A load, and what it cost. */
export type Measured = Load & {
  /** What is wrong with it; empty when the answers and the database are right. */
  readonly problems: readonly string[];
  /** In microseconds of a processor for each request; `null` where the system does not tell. */
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  readonly senderCpuUs: number;
  /** The most memory that the server had since it was started. */
  readonly peakMegabytes: number | null;
};

export type LoadOptions = {
  readonly connections: number;
  readonly seconds: number;
  readonly ratePerSecond?: number;
};

/** More than any server here answers in a second. */
const MAX_PER_SECOND = 100_000;
/** How many events are signed for each that is expected. */
const MARGIN = 2;
const SPARE_EVENTS = 2_000;

/** How a given number of events is sent. */
const COUNT_CONNECTIONS = 64;
const COUNT_DEADLINE_SECONDS = 3_600;

/** One contestant's server, running, and the processes that send to it. */
export class Turn {
  readonly entrant: Entrant;
  readonly server: ServerProcess;
  readonly #postgres: BenchPostgres;
  /** One for each kind, so that both may be sent at a time. */
  readonly #senders = { events: new LoadProcess(), profiles: new LoadProcess() };

  private constructor(entrant: Entrant, server: ServerProcess, postgres: BenchPostgres) {
    this.entrant = entrant;
    this.server = server;
    this.#postgres = postgres;
  }

  static async start(
    entrant: Entrant,
    postgres: BenchPostgres,
    nodeOptions: readonly string[] = [],
  ): Promise<Turn> {
    await entrant.database.checkpoint();
    const server = await startServer(entrant.contestant.server(entrant.database.url), nodeOptions);
    return new Turn(entrant, server, postgres);
  }

  async end(): Promise<void> {
    await Promise.all(Object.values(this.#senders).map((sender) => sender.end()));
    await this.server.stop();
  }

  /** Sends events that nobody has sent yet. `expected`: how many a second, as far as is known. */
  async sendEvents(options: LoadOptions, expected: number | null = null): Promise<Measured> {
    const perSecond = options.ratePerSecond ?? expected;
    if (perSecond === null) return await this.sendSignedLate(options);
    const count = Math.ceil(perSecond * options.seconds * MARGIN) + SPARE_EVENTS;
    return await this.#sendEvents(options, { count, isSignedLate: false });
  }

  /** The same, for as long as it takes: each event is signed when it is sent. */
  async sendSignedLate(options: LoadOptions): Promise<Measured> {
    const count = Math.ceil(MAX_PER_SECOND * options.seconds);
    return await this.#sendEvents(options, { count, isSignedLate: true });
  }

  /** Sends so many. */
  async sendCount(count: number): Promise<Measured> {
    const options = { connections: COUNT_CONNECTIONS, seconds: COUNT_DEADLINE_SECONDS };
    return await this.#sendEvents(options, { count, isSignedLate: true });
  }

  async readProfiles(options: LoadOptions): Promise<Measured> {
    const { contestant, signedIn: users } = this.entrant;
    const path = contestant.profiles?.path ?? '/';
    return await this.#send(options, { kind: 'profiles', path, users });
  }

  async #sendEvents(
    options: LoadOptions,
    events: { readonly count: number; readonly isSignedLate: boolean },
  ): Promise<Measured> {
    const { contestant, teams, eventsSent: first } = this.entrant;
    const measured = await this.#send(options, {
      kind: 'events',
      path: contestant.webhookPath,
      secret: WEBHOOK_SECRET,
      first,
      teams,
      ...events,
    });
    const failed = Object.values(measured.failures).reduce((sum, failures) => sum + failures, 0);
    this.entrant.eventsSent = first + measured.answered + failed;
    const wrong = failed > 0 ? [] : await auditEvents(this.entrant);
    return { ...measured, problems: [...measured.problems, ...wrong] };
  }

  async #send(options: LoadOptions, requests: Requests): Promise<Measured> {
    const { url, pid } = this.server;
    let before = this.#useOf(pid);
    const job = { url, ratePerSecond: null, ...options, requests };
    const load = await this.#senders[requests.kind].run(job, () => {
      before = this.#useOf(pid);
    });
    const after = this.#useOf(pid);
    const { answered, failures } = load;
    const perRequest = (cpuMs: number) => (cpuMs * 1_000) / Math.max(1, answered);
    const cost = (one: Use | null, other: Use | null) =>
      one === null || other === null ? null : perRequest(other.cpuMs - one.cpuMs);
    return {
      ...load,
      problems: Object.entries(failures).map(([what, count]) => `${count} × ${what}`),
      serverCpuUs: cost(before.server, after.server),
      postgresCpuUs: cost(before.postgres, after.postgres),
      senderCpuUs: perRequest(load.senderCpuMs),
      peakMegabytes: after.server?.peakMegabytes ?? null,
    };
  }

  #useOf(server: number): { readonly server: Use | null; readonly postgres: Use | null } {
    if (!canTellUse()) return { server: null, postgres: null };
    const { pid } = this.#postgres;
    return { server: useOf(server), postgres: pid === null ? null : useOf(pid) };
  }
}
