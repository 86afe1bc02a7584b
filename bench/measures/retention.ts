import { freePort } from '../../tests/support/process/free-port.ts';
import type { Ask } from '../database/bench-postgres.ts';
import { createInstep } from '../systems/instep.ts';
import { type PreparedSystem, prepareSystem } from '../systems/prepared-system.ts';
import type { System } from '../systems/system.ts';
import type { CompareOptions, Sample } from './compare.ts';
import { type MeasuredPage, requestPages } from './console.ts';
import { consolePages } from './console-pages.ts';
import { Deletion, type DeletionCosts } from './deletion.ts';
import { measureRun } from './measure-system.ts';
import { realisticLog } from './seed-console.ts';
import { insertEvents, LOAD_TIMES, seedHistory } from './seed-history.ts';
import { ServerRun } from './server-run.ts';

/** The other work during the measurement of a load. */
export const PHASES = {
  deletionRests: 'without deletion',
  deletion: 'while events are deleted',
  afterward: 'after the deletion',
} as const;

export type RetentionMeasures = {
  readonly samples: readonly Sample[];
  readonly deletion: DeletionCosts;
  /** The console's pages while events are deleted, and afterward. */
  readonly pages: {
    readonly during: readonly MeasuredPage[];
    readonly after: readonly MeasuredPage[];
  };
  /** How much the log grows, relative to its size, when as many new events arrive as were deleted. */
  readonly growthByReplacement: number;
};

/** A quarter of the log is older than the retention. */
const LOG_DAYS = 14;
const RETENTION_DAYS = 10.5;
const DAY_MS = 86_400_000;

const PAGE_TIMES = 10;

/** Measures the load on a long log while a quarter of it is deleted. */
export async function measureRetention(
  { options, postgres, stripeApiBase, onSample }: CompareOptions,
  print: (text: string) => void,
): Promise<RetentionMeasures> {
  const { teams, rounds } = options;
  const opsPort = String(await freePort());
  const system = withLongLog(createInstep(stripeApiBase), options.events, opsPort);
  const prepared = await prepareSystem(
    system,
    postgres,
    { teams, users: teams },
    {
      databaseName: 'retention',
    },
  );
  await fillLog(prepared, options, print);
  const { database } = prepared;

  const samples: Sample[] = [];
  const loads = { ...options, measures: ['events', 'profiles'] as const };
  const run = await ServerRun.start(prepared, postgres);
  const measure = (phase: string, round: number) =>
    measureRun(run, loads, (name, measured) => {
      const sample = { system: phase, round, name, measured };
      samples.push(sample);
      onSample(sample);
    });
  const measurePages = async () =>
    await requestPages(await consolePages(database.ask, teams), {
      origin: `http://127.0.0.1:${opsPort}`,
      times: PAGE_TIMES,
    });

  const deletion = new Deletion(database, Date.now() - RETENTION_DAYS * DAY_MS);
  try {
    for (let round = 1; round <= rounds; round += 1) {
      await deletion.rest();
      await measure(PHASES.deletionRests, round);
      await deletion.resume();
      await measure(PHASES.deletion, round);
    }
    const during = await measurePages();
    const costs = await deletion.complete(postgres.pid);
    print(`${costs.deleted.toLocaleString('en')} events deleted`);
    for (let round = 1; round <= rounds; round += 1) await measure(PHASES.afterward, round);
    const after = await measurePages();
    return {
      samples,
      deletion: costs,
      pages: { during, after },
      growthByReplacement: await replace(prepared, costs.deleted),
    };
  } finally {
    await deletion.close();
    await run.end();
  }
}

/** Instep that deletes no events by itself, with a log that already has this many events. */
function withLongLog(instep: System, events: number, opsPort: string): System {
  return {
    ...instep,
    server(databaseUrl) {
      const command = instep.server(databaseUrl);
      const environment = { ...command.environment, EVENT_RETENTION: 'off', OPS_PORT: opsPort };
      return { ...command, environment };
    },
    async countLogged(ask) {
      const [row] = await ask<{ count: string }>(
        'select count(*) from instep.events where position > $1',
        [events],
      );
      return events + Number(row?.count);
    },
  };
}

/** A tenth of the customers keep all their events, because their states are older than every event. */
const KEEP_TENTH = `
  update instep.subscriptions
     set created_at = to_timestamp(${LOAD_TIMES.firstSeconds} - 1)
   where customer_id like '%7'`;

/** Fills the log with events that arrived at a constant rate. */
async function fillLog(
  prepared: PreparedSystem,
  { events, teams }: { readonly events: number; readonly teams: number },
  print: (text: string) => void,
) {
  const { ask } = prepared.database;
  const receivedAt = `now() - interval '${LOG_DAYS} days' * (1 - number / ${events}.0)`;
  const onLogged = (logged: number) => print(`${logged.toLocaleString('en')} events in the log`);
  const history = { events, teams, ...LOAD_TIMES };
  await seedHistory(ask, history, onLogged, realisticLog(receivedAt));
  await ask(KEEP_TENTH);
  await ask('vacuum analyze instep.subscriptions');
  prepared.eventsSent = events;
}

/** Adds events. Returns the growth of the log, relative to its size. */
async function replace({ database, eventsSent, teams }: PreparedSystem, count: number) {
  const { ask } = database;
  const before = await logBytes(ask);
  const range = { first: eventsSent, count };
  const history = { teams, ...LOAD_TIMES };
  await insertEvents(ask, realisticLog('now()'), range, history, () => undefined);
  return (await logBytes(ask)) / before - 1;
}

async function logBytes(ask: Ask): Promise<number> {
  const [row] = await ask<{ bytes: string }>(
    `select pg_total_relation_size('instep.events') as bytes`,
  );
  return Number(row?.bytes);
}
