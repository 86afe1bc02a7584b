// npm run bench -- [compare|growth|memory|console]: what the options are, --help tells.
import { startStripeApi } from './contestants/stripe-api.ts';
import { openBenchPostgres } from './database/bench-postgres.ts';
import { readOptions, USAGE, UsageWrong } from './options.ts';
import { describeMachine } from './report/machine.ts';
import { writeChart, writeSection } from './report/page.ts';
import { STEPS } from './steps.ts';

const tell = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelpAsked) {
    tell(USAGE);
    return;
  }
  const stripeApi = await startStripeApi();
  const postgres = await openBenchPostgres(process.env.DATABASE_URL);
  try {
    const machine = describeMachine(postgres.version);
    const told = { options, postgres, stripeApiBase: stripeApi.url, machine, tell };
    const { report, chart, isSound } = await STEPS[options.step](told);
    tell(`\n${report}`);
    if (options.isWhole) {
      writeSection(options.step, report);
      if (chart !== null) writeChart(chart);
    }
    if (!isSound) process.exitCode = 1;
  } finally {
    await postgres.close();
    await stripeApi.close();
  }
}

// Whoever reads our output may stop at any line, as `head` does: what we do comes to its end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// Whatever runs for us ends with us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  await main();
} catch (error) {
  const isWrongUsage = error instanceof UsageWrong;
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(isWrongUsage ? `${error.message}\n${USAGE}` : `${told}\n`);
  process.exitCode = isWrongUsage ? 2 : 1;
}
