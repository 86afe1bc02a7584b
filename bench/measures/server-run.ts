import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Load, Requests } from '../load/job.ts';
import { LoadProcess } from '../load/load-process.ts';
import { canMeasureUse, type Use, useOf } from '../processes/process-tree.ts';
import { type Runtime, type ServerProcess, startServer } from '../processes/server-process.ts';
import type { PreparedSystem } from '../systems/prepared-system.ts';
import { WEBHOOK_SECRET } from '../systems/settings.ts';
import { auditEvents } from './audit.ts';

/** A load and its costs. */
export type Measured = Load & {
  /** Empty when the responses and the database are correct. */
  readonly problems: readonly string[];
  /** The number of customers whose state is not that of their newest event. */
  readonly wrongCustomers: number;
  /** Microseconds of processor time per request; `null` where the system does not report it. */
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  readonly senderCpuUs: number | null;
  /** The server's peak memory since its start. */
  readonly peakMegabytes: number | null;
};

type LoadOptions = {
  readonly connections: number;
  readonly seconds: number;
  readonly ratePerSecond?: number;
};

/** More requests than any of these servers answers in a second. */
const MAX_PER_SECOND = 100_000;
/** The events that are signed for each expected one. */
const MARGIN = 2;
const SPARE_EVENTS = 2_000;

const UNKNOWN_COSTS = { serverCpuUs: null, postgresCpuUs: null, senderCpuUs: null };

/** The settings for sending a given number of events. */
const COUNT_CONNECTIONS = 64;
const COUNT_DEADLINE_SECONDS = 3_600;

/** The running server of one system, and the processes that send to it. */
export class ServerRun {
  readonly prepared: PreparedSystem;
  readonly server: ServerProcess;
  readonly #postgres: BenchPostgres;
  /** One for each kind, so that both can be sent at the same time. */
  readonly #senders = { events: new LoadProcess(), profiles: new LoadProcess() };

  private constructor(prepared: PreparedSystem, server: ServerProcess, postgres: BenchPostgres) {
    this.prepared = prepared;
    this.server = server;
    this.#postgres = postgres;
  }

  static async start(
    prepared: PreparedSystem,
    postgres: BenchPostgres,
    runtime?: Runtime,
  ): Promise<ServerRun> {
    await prepared.database.checkpoint();
    const server = await startServer(prepared.system.server(prepared.database.url), runtime);
    return new ServerRun(prepared, server, postgres);
  }

  async end(): Promise<void> {
    await Promise.all(Object.values(this.#senders).map((sender) => sender.end()));
    await this.server.stop();
  }

  /** Sends new events. `expected`: the rate per second, if it is known. */
  async sendEvents(options: LoadOptions, expected: number | null = null): Promise<Measured> {
    const perSecond = options.ratePerSecond ?? expected;
    if (perSecond === null) return await this.sendSignedLate(options);
    const count = Math.ceil(perSecond * options.seconds * MARGIN) + SPARE_EVENTS;
    return await this.#sendEvents(options, { count, isSignedLate: false });
  }

  /** Like `sendEvents`, for any duration: each event is signed when it is sent. */
  async sendSignedLate(options: LoadOptions): Promise<Measured> {
    const count = Math.ceil(MAX_PER_SECOND * options.seconds);
    return await this.#sendEvents(options, { count, isSignedLate: true });
  }

  /** Sends this many events. */
  async sendCount(count: number): Promise<Measured> {
    const options = { connections: COUNT_CONNECTIONS, seconds: COUNT_DEADLINE_SECONDS };
    return await this.#sendEvents(options, { count, isSignedLate: true });
  }

  async readProfiles(options: LoadOptions): Promise<Measured> {
    const { system, signedIn: users } = this.prepared;
    const path = system.profiles?.path ?? '/';
    return await this.#send(options, { kind: 'profiles', path, users });
  }

  /** Sends both at once, each on half of the connections. Their costs cannot be told apart. */
  async sendMixed({ connections, seconds }: LoadOptions) {
    const half = { connections: Math.ceil(connections / 2), seconds };
    const [events, profiles] = await Promise.all([
      this.sendSignedLate(half),
      this.readProfiles(half),
    ]);
    return { events: { ...events, ...UNKNOWN_COSTS }, profiles: { ...profiles, ...UNKNOWN_COSTS } };
  }

  async #sendEvents(
    options: LoadOptions,
    events: { readonly count: number; readonly isSignedLate: boolean },
  ): Promise<Measured> {
    const { system, mix, teams, eventsSent: first } = this.prepared;
    const measured = await this.#send(options, {
      kind: 'events',
      path: system.webhookPath,
      secret: WEBHOOK_SECRET,
      mix,
      first,
      teams,
      ...events,
    });
    const failed = Object.values(measured.failures).reduce((sum, failures) => sum + failures, 0);
    this.prepared.eventsSent = first + measured.answered + failed;
    if (failed > 0) return measured;
    const { problems, wrongCustomers } = await auditEvents(this.prepared);
    return { ...measured, problems: [...measured.problems, ...problems], wrongCustomers };
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
      wrongCustomers: 0,
      serverCpuUs: cost(before.server, after.server),
      postgresCpuUs: cost(before.postgres, after.postgres),
      senderCpuUs: perRequest(load.senderCpuMs),
      peakMegabytes: after.server?.peakMegabytes ?? null,
    };
  }

  #useOf(server: number): { readonly server: Use | null; readonly postgres: Use | null } {
    if (!canMeasureUse()) return { server: null, postgres: null };
    const { pid } = this.#postgres;
    return { server: useOf(server), postgres: pid === null ? null : useOf(pid) };
  }
}
