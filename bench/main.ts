import { startStripeApi } from './contestants/stripe-api.ts';
import { openBenchPostgres } from './database/bench-postgres.ts';
import { compare } from './measures/compare.ts';
import { readOptions, USAGE, UsageWrong } from './options.ts';
import { comparisonChart, comparisonReport } from './report/comparison-report.ts';
import { describeMachine } from './report/machine.ts';
import { writeChart, writeSection } from './report/page.ts';
import { sampleLine } from './report/sample-line.ts';

const tell = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const stripeApi = await startStripeApi();
  const postgres = await openBenchPostgres(process.env.DATABASE_URL);
  try {
    const told = { options, postgres, stripeApiBase: stripeApi.url };
    const comparison = await compare({ ...told, onSample: (sample) => tell(sampleLine(sample)) });
    const machine = describeMachine(postgres.version);
    const report = comparisonReport(comparison, { options, machine });
    tell(`\n${report}`);
    if (options.isWhole) {
      writeSection('compare', report);
      writeChart(comparisonChart(comparison));
    }
    if (comparison.samples.some(({ measured }) => measured.problems.length > 0)) {
      process.exitCode = 1;
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
