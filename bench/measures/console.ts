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
    const measured: MeasuredPage[] = [];
    for (const page of await consolePages(ask, teams)) {
      const one = await requestPage(page, origin);
      print(`${one.name}: ${Math.round(Math.max(...one.timesMs))} ms worst case`);
      measured.push(one);
    }
    return measured;
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

async function requestPage(page: ConsolePage, origin: string): Promise<MeasuredPage> {
  const timesMs: number[] = [];
  let problem: string | null = null;
  for (let time = 0; time < TIMES; time += 1) {
    const startedAtMs = performance.now();
    const response = await fetch(origin + page.path, { redirect: 'manual' });
    await (page.isFile ? readFirst(response) : response.arrayBuffer());
    timesMs.push(performance.now() - startedAtMs);
    // A search with one exact hit redirects to its page.
    if (response.status >= 400) problem = `${page.path} was answered ${response.status}`;
  }
  return { ...page, timesMs, problem };
}

async function readFirst({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  await reader?.read();
  await reader?.cancel();
}
