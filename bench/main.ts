// npm run bench -- [compare|goals|access|memory|console]; --help lists the options.

import { openBenchPostgres } from './database/bench-postgres.ts';
import { readOptions, USAGE, UsageWrong } from './options.ts';
import { describeMachine } from './report/machine.ts';
import { writeChart, writeReport } from './report/page.ts';
import { STEPS } from './steps.ts';
import { startStripeApi } from './systems/stripe-api.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) {
    print(USAGE);
    return;
  }
  const stripeApi = await startStripeApi();
  const postgres = await openBenchPostgres(process.env.DATABASE_URL, options.settings);
  try {
    const machine = describeMachine(postgres.version, options.settings);
    const context = { options, postgres, stripeApiBase: stripeApi.url, machine, print };
    const { report, chart, isValid } = await STEPS[options.step](context);
    print(`\n${report.figures ?? ''}\n\n${report.goals}`);
    if (options.hasDefaultOptions) {
      writeReport(options.step, report);
      if (chart !== null) writeChart(chart);
    }
    if (!isValid) process.exitCode = 1;
  } finally {
    await postgres.close();
    await stripeApi.close();
  }
}

// A reader such as `head` can close the output at any line. The benchmark still finishes.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// Also ends the child processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  await main();
} catch (error) {
  const isWrongUsage = error instanceof UsageWrong;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(isWrongUsage ? `${error.message}\n${USAGE}` : `${text}\n`);
  process.exitCode = isWrongUsage ? 2 : 1;
}
