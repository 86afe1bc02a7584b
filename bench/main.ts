import { startStripeApiServer } from '../src/simulation/stripe-api-server.ts';
import { betterAuth } from './contestants/better-auth.ts';
import type { Contestant } from './contestants/contestant.ts';
import { floor } from './contestants/floor.ts';
import { createInstep } from './contestants/instep.ts';
import { syncEngine } from './contestants/sync-engine.ts';
import { type BenchPostgres, openBenchPostgres } from './database/bench-postgres.ts';
import { PLANS, productIdOf } from './load/subscription-event.ts';
import { takeTurn } from './measures/take-turn.ts';
import type { Entrant, Measured } from './measures/turn.ts';
import { readOptions, USAGE, UsageWrong } from './options.ts';

const SIZE = { teams: 10_000, users: 2_000 };

const tell = (line: string) => process.stdout.write(`${line}\n`);

async function enter(contestant: Contestant, postgres: BenchPostgres): Promise<Entrant> {
  const database = await postgres.create(contestant.name);
  await contestant.prepare(database.url, database.ask, SIZE);
  const signedIn = (await contestant.profiles?.signIn(SIZE.users)) ?? [];
  return { contestant, database, teams: SIZE.teams, signedIn, eventsSent: 0 };
}

function describe(name: string, measured: Measured): string {
  const round = (value: number | null) => (value === null ? '–' : value.toFixed(0));
  const { perSecond, p50Ms, p99Ms, serverCpuUs, postgresCpuUs, senderCpuUs } = measured;
  const problems = measured.problems.map((problem) => `  WRONG: ${problem}`).join('');
  return `${name.padEnd(34)} ${round(perSecond).padStart(7)}/s  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms  CPU µs: server ${round(serverCpuUs)}, postgres ${round(postgresCpuUs)}, sender ${round(senderCpuUs)}  ${round(measured.peakMegabytes)} MB${problems}`;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const names = Object.fromEntries(PLANS.map((name, plan) => [productIdOf(plan), name]));
  const stripeApi = await startStripeApiServer({ productNames: names });
  const all = [createInstep(stripeApi.url), floor, syncEngine, betterAuth];
  const { only } = options;
  const contestants = all.filter(({ name }) => only === null || only.includes(name));
  const postgres = await openBenchPostgres(process.env.DATABASE_URL);
  try {
    const entrants: Entrant[] = [];
    for (const contestant of contestants) entrants.push(await enter(contestant, postgres));
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const entrant of entrants) {
        await takeTurn(entrant, postgres, options, (name, measured) =>
          tell(describe(`${round} ${entrant.contestant.name}: ${name}`, measured)),
        );
      }
    }
  } finally {
    await postgres.close();
    await stripeApi.close();
  }
}

try {
  await main();
} catch (error) {
  const isWrongUsage = error instanceof UsageWrong;
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(isWrongUsage ? `${error.message}\n${USAGE}` : `${told}\n`);
  process.exitCode = isWrongUsage ? 2 : 1;
}
