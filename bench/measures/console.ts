import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../tests/support/process/free-port.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Options } from '../options.ts';
import { startServer } from '../processes/server-process.ts';
import { createInstep } from '../systems/instep.ts';
import { type ConsolePage, consolePages } from './console-pages.ts';
import { seedConsole } from './seed-console.ts';

export type MeasuredPage = ConsolePage & {
  /** The times from the request to the last byte, or to the first byte of a file. */
  readonly timesMs: readonly number[];
  readonly bytes: number;
  /** The response instead of the page. */
  readonly problem: string | null;
};

type ConsoleOptions = {
  readonly options: Pick<Options, 'events' | 'teams'>;
  readonly postgres: BenchPostgres;
  readonly stripeApiBase: string;
};

const TIMES = 50;

/** Requests every page of the console over a long log. */
export async function measureConsole(
  { options: { events, teams }, postgres, stripeApiBase }: ConsoleOptions,
  print: (text: string) => void,
): Promise<MeasuredPage[]> {
  const { url: databaseUrl, ask } = await postgres.open('console');
  const instep = createInstep(stripeApiBase);
  await instep.prepare(databaseUrl, ask, { teams: 0, users: 0 });
  await seedConsole(ask, { events, teams }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );

  const port = String(await freePort());
  const command = instep.server(databaseUrl);
  const environment = { ...command.environment, OPS_PORT: port };
  const server = await startServer({ ...command, environment });
  try {
    const origin = `http://127.0.0.1:${port}`;
    await until('the console to answer', async () => (await fetch(origin)).status === 200);
    return await requestPages(await consolePages(ask, teams), {
      origin,
      times: TIMES,
      onPage: ({ name, timesMs }) =>
        print(`${name}: ${Math.round(Math.max(...timesMs))} ms worst case`),
    });
  } finally {
    await server.stop();
  }
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  while (performance.now() < deadlineMs) {
    if (await isTrue()) return;
    await sleep(200);
  }
  throw new Error(`waited too long for ${what}`);
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
    const startedAtMs = performance.now();
    const response = await fetch(origin + page.path, { redirect: 'manual' });
    bytes = page.isFile ? await readFirst(response) : (await response.arrayBuffer()).byteLength;
    timesMs.push(performance.now() - startedAtMs);
    // A search with one exact hit redirects to its page.
    if (response.status >= 400) problem = `${page.path} was answered ${response.status}`;
  }
  return { ...page, timesMs, bytes, problem };
}

/** Reads the first bytes of a response. */
async function readFirst({ body }: Response): Promise<number> {
  const reader = body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return first?.value?.byteLength ?? 0;
}
