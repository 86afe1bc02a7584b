import { freePort } from '../../tests/support/process/free-port.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Options } from '../options.ts';
import { startServer } from '../processes/server-process.ts';
import { createInstep } from '../systems/instep.ts';
import { type ConsolePage, consolePages } from './console-pages.ts';
import { seedConsole } from './seed-console.ts';
import { untilStatisticsComplete } from './until-statistics-complete.ts';

export type MeasuredPage = ConsolePage & {
  /** The times from the request to the last byte. */
  readonly timesMs: readonly number[];
  readonly bytes: number;
  /** The response instead of the page. */
  readonly problem: string | null;
};

export type ConsoleMeasures = {
  readonly pages: readonly MeasuredPage[];
  /** How long the statistics of the log took; `null` when they were complete before. */
  readonly statisticsSeconds: number | null;
};

export type ConsoleOptions = {
  readonly options: Pick<Options, 'events' | 'teams'>;
  readonly postgres: BenchPostgres;
  readonly stripeApiBase: string;
};

const TIMES = 50;

/** Requests every page of the console over a long log. */
export async function measureConsole(
  { options: { events, teams }, postgres, stripeApiBase }: ConsoleOptions,
  print: (text: string) => void,
): Promise<ConsoleMeasures> {
  const { url: databaseUrl, ask } = await postgres.open('console');
  const instep = createInstep(stripeApiBase, 1);
  await instep.prepare(databaseUrl, ask, { teams: 0, users: 0 });
  await seedConsole(ask, { events, teams }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );

  const port = String(await freePort());
  const command = instep.server(databaseUrl);
  const environment = { ...command.environment, OPS_PORT: port };
  const server = await startServer({ ...command, environment });
  try {
    const statisticsSeconds = await untilStatisticsComplete(ask, print);
    const pages = await requestPages(await consolePages(ask, teams), {
      origin: `http://127.0.0.1:${port}`,
      times: TIMES,
      onPage: ({ name, timesMs }) =>
        print(`${name}: ${Math.round(Math.max(...timesMs))} ms worst case`),
    });
    return { pages, statisticsSeconds };
  } finally {
    await server.stop();
  }
}

type PageRequests = {
  readonly origin: string;
  /** How often each page is requested. */
  readonly times: number;
  readonly onPage?: (page: MeasuredPage) => void;
};

/** Requests these pages, one after the other. */
export async function requestPages(
  pages: readonly ConsolePage[],
  { origin, times, onPage }: PageRequests,
): Promise<MeasuredPage[]> {
  const measured: MeasuredPage[] = [];
  for (const page of pages) {
    const one = await requestPage(page, origin, times);
    onPage?.(one);
    measured.push(one);
  }
  return measured;
}

async function requestPage(
  page: ConsolePage,
  origin: string,
  times: number,
): Promise<MeasuredPage> {
  const timesMs: number[] = [];
  let bytes = 0;
  let problem: string | null = null;
  for (let time = 0; time < times; time += 1) {
    const beganAtMs = performance.now();
    const response = await fetch(origin + page.path, { redirect: 'manual' });
    const body = await response.arrayBuffer();
    timesMs.push(performance.now() - beganAtMs);
    bytes = body.byteLength;
    if (response.status !== 200) problem = `${page.path} was answered ${response.status}`;
  }
  return { ...page, timesMs, bytes, problem };
}
