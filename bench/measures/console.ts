import { freePort } from '../../tests/support/process/free-port.ts';
import { createInstep } from '../contestants/instep.ts';
import type { BenchPostgres } from '../database/bench-postgres.ts';
import type { Options } from '../options.ts';
import { startServer } from '../processes/server-process.ts';
import { type ConsolePage, consolePages } from './console-pages.ts';
import { seedConsole } from './seed-console.ts';
import { untilSummed } from './until-summed.ts';

export type MeasuredPage = ConsolePage & {
  /** How long it took each time, from the request to the last byte. */
  readonly timesMs: readonly number[];
  readonly bytes: number;
  /** What it answered instead of the page. */
  readonly problem: string | null;
};

export type ConsoleMeasures = {
  readonly pages: readonly MeasuredPage[];
  /** How long the keeper took to sum the log; `null` when it had done so before. */
  readonly summedSeconds: number | null;
};

export type ConsoleOptions = {
  readonly options: Pick<Options, 'events' | 'teams'>;
  readonly postgres: BenchPostgres;
  readonly stripeApiBase: string;
};

const TIMES = 50;

/** Asks for every page of the operators', over a long log. */
export async function measureConsole(
  { options: { events, teams }, postgres, stripeApiBase }: ConsoleOptions,
  tell: (text: string) => void,
): Promise<ConsoleMeasures> {
  const { url: databaseUrl, ask } = await postgres.open('console');
  const instep = createInstep(stripeApiBase, 1);
  await instep.prepare(databaseUrl, ask, { teams: 0, users: 0 });
  await seedConsole(ask, { events, teams }, (logged) =>
    tell(`${logged.toLocaleString('en')} events are logged`),
  );

  const port = String(await freePort());
  const command = instep.server(databaseUrl);
  const environment = { ...command.environment, OPS_PORT: port };
  const server = await startServer({ ...command, environment });
  try {
    const summedSeconds = await untilSummed(ask, tell);
    const pages: MeasuredPage[] = [];
    for (const page of await consolePages(ask, teams)) {
      const measured = await askFor(page, `http://127.0.0.1:${port}`);
      tell(`${page.name}: ${Math.round(Math.max(...measured.timesMs))} ms at most`);
      pages.push(measured);
    }
    return { pages, summedSeconds };
  } finally {
    await server.stop();
  }
}

async function askFor(page: ConsolePage, origin: string): Promise<MeasuredPage> {
  const timesMs: number[] = [];
  let bytes = 0;
  let problem: string | null = null;
  for (let time = 0; time < TIMES; time += 1) {
    const beganAtMs = performance.now();
    const response = await fetch(origin + page.path, { redirect: 'manual' });
    const body = await response.arrayBuffer();
    timesMs.push(performance.now() - beganAtMs);
    bytes = body.byteLength;
    if (response.status !== 200) problem = `${page.path} was answered ${response.status}`;
  }
  return { ...page, timesMs, bytes, problem };
}
