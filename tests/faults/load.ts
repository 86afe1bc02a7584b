import { setTimeout as sleep } from 'node:timers/promises';
import type { ApplicationId } from 'instep';
import { expect } from 'vitest';
import { expectedTeam, type TrueChange } from '../../simulation/expected-team.ts';
import { createRandom, type Random } from '../../simulation/random.ts';
import type { Database } from '../support/internals/database.ts';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { postSigned } from '../support/process/instep-process.ts';
import { eventBody } from '../support/stripe/events.ts';

/** The observations of a sender that behaves like Stripe. */
export type Figures = {
  /** Events that got a 200. */
  readonly acknowledged: number;
  /** Attempts that did not get a 200, and were repeated. */
  readonly repeated: number;
  /** Events that were sent again after a 200. */
  readonly duplicates: number;
  /** Acknowledged events that are missing in the log. The audit throws if there are any. */
  readonly lost: 0;
};

export type Load = {
  readonly acknowledged: number;
  /** What attempts got in place of a 200: statuses and network errors. */
  readonly refusals: ReadonlySet<number | string>;
  /** Waits for this many more events with a 200. Throws if none arrives. */
  untilMore(count: number): Promise<void>;
  /** Waits for an attempt that does not get a 200. */
  untilRefused(): Promise<void>;
  /** Starts no new events, and repeats the running ones until each gets a 200. */
  finish(): Promise<void>;
  /** After `finish`: checks that every event is logged and every team is in the expected state. */
  audit(database: Database): Promise<Figures>;
};

export type LoadOptions = {
  /** The URL of the next attempt. */
  readonly url: () => string;
  readonly senders?: number;
  readonly teams?: number;
  readonly seed?: number;
  /** How long an attempt waits for its answer. */
  readonly timeoutMs?: number;
  /** Called with the status of each attempt, or its network error. */
  readonly onAnswer?: (answer: number | string) => void;
};

const STATUSES = ['active', 'trialing', 'past_due', 'active', 'canceled', 'unpaid'] as const;
const FIRST_SECOND = 1_700_000_000;
/** Stripe waits up to hours; here a short pause is enough. */
const RETRY_AFTER_MS = 25;
const POLL_MS = 10;
/** The share of sends that repeat one of the most recently acknowledged events. */
const DUPLICATE = 0.1;
const REMEMBERED = 500;
/** Longer than any outage in the tests. */
const GIVE_UP_AFTER_MS = 120_000;

type Team = {
  readonly customerId: string;
  readonly teamId: ApplicationId;
  readonly truth: TrueChange[];
};

let loads = 0;

/** Posts signed events from several senders, and repeats each one until it gets a 200. */
export async function startLoad(database: Database, options: LoadOptions): Promise<Load> {
  const { senders = 8, timeoutMs = 20_000 } = options;
  loads += 1;
  const name = `${loads}_${Date.now()}`;
  const random = createRandom(options.seed ?? 1);
  const teams = await addTeams(database, name, options.teams ?? 16);
  const acknowledged: string[] = [];
  const refusals = new Set<number | string>();
  let isOver = false;
  let count = 0;
  let repeated = 0;
  let duplicates = 0;
  const remembered: string[] = [];

  async function attempt(body: string): Promise<number | string> {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await postSigned(options.url(), body, { signal });
      await response.arrayBuffer();
      return response.status;
    } catch (error) {
      return error instanceof Error ? String(error.cause ?? error) : String(error);
    }
  }

  async function untilAcknowledged(body: string): Promise<void> {
    const giveUpAtMs = Date.now() + GIVE_UP_AFTER_MS;
    for (;;) {
      const answer = await attempt(body);
      options.onAnswer?.(answer);
      if (answer === 200) return;
      repeated += 1;
      refusals.add(answer);
      if (Date.now() > giveUpAtMs) throw new Error(`never acknowledged: ${answer}`);
      await sleep(RETRY_AFTER_MS);
    }
  }

  async function sendNew(): Promise<void> {
    count += 1;
    const eventId = `evt_${name}_${count}`;
    const change = happen(random.pick(teams), FIRST_SECOND + count, random);
    const body = eventBody({ ...change, eventId });
    await untilAcknowledged(body);
    acknowledged.push(eventId);
    remembered[acknowledged.length % REMEMBERED] = body;
  }

  async function send(): Promise<void> {
    while (!isOver) {
      const former = remembered[random.below(REMEMBERED)];
      if (former === undefined || !random.chance(DUPLICATE)) await sendNew();
      else {
        duplicates += 1;
        await untilAcknowledged(former);
      }
    }
  }

  const sending = Promise.all(Array.from({ length: senders }, send));
  // The caller that awaits `done` gets the error.
  sending.catch(() => undefined);

  return {
    refusals,
    get acknowledged() {
      return acknowledged.length;
    },
    async untilMore(more) {
      const goal = acknowledged.length + more;
      while (acknowledged.length < goal) await Promise.race([sleep(POLL_MS), sending]);
    },
    async untilRefused() {
      const before = repeated;
      const giveUpAtMs = Date.now() + GIVE_UP_AFTER_MS;
      while (repeated === before) {
        if (Date.now() > giveUpAtMs)
          throw new Error('the requests are still answered in spite of the outage');
        await sleep(POLL_MS);
      }
    },
    async finish() {
      isOver = true;
      await sending;
    },
    async audit(audited) {
      const logged = await audited.query<{ event_id: string }>(
        'select event_id from instep.events where event_id like $1',
        [`evt_${name}_%`],
      );
      const stored = new Set(logged.map(({ event_id }) => event_id));
      expect(acknowledged.filter((eventId) => !stored.has(eventId))).toEqual([]);
      // The log holds each event once.
      expect(logged).toHaveLength(stored.size);
      for (const { teamId, truth } of teams) {
        const { planName: _, ...expected } = expectedTeam(truth, 'newest');
        expect((await readTeam(audited.query, teamId))?.plan).toMatchObject(expected);
      }
      return { acknowledged: acknowledged.length, repeated, duplicates, lost: 0 };
    },
  };
}

async function addTeams(database: Database, name: string, count: number): Promise<Team[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const customerId = `cus_${name}_${index}`;
      const teamId = await addTeam(database.query, { name: customerId, customerId });
      return { customerId, teamId, truth: [] };
    }),
  );
}

/** Creates an event at Stripe, each in its own second, so that the order is known. */
function happen({ customerId, truth }: Team, createdSeconds: number, random: Random) {
  const change = {
    createdSeconds,
    subscriptionId: `sub_${customerId}_${random.below(2)}`,
    status: random.pick(STATUSES),
    productId: `prod_${random.below(3)}`,
  };
  truth.push({ ...change, productName: '' });
  return { ...change, customerId };
}
