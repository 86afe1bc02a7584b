import { describe, test } from 'vitest';
import { reportFigures } from './report.ts';
import { SCENARIOS } from './scenarios.ts';

/** Fewer of everything, to try it out; then nothing is reported. */
const TIMES = process.env.TIMES === undefined ? undefined : Number(process.env.TIMES);
const WIDTH = 30;

// The names of all tests begin with `all`, so that `npm run torture -- all` runs all of them.
describe('all', () => {
  test.each(Object.entries(SCENARIOS))('%s', async (name, scenario) => {
    const times = TIMES ?? scenario.times.long;
    const figures = await scenario.run({
      times,
      onProgress: (done) => showProgress(name, done, times),
    });
    process.stderr.write('\n');
    process.stdout.write(`${JSON.stringify({ name, ...figures })}\n`);
    if (TIMES === undefined) reportFigures(name, scenario, figures);
  });
});

function showProgress(name: string, done: number, times: number): void {
  const bar = '█'.repeat(Math.round((done / times) * WIDTH)).padEnd(WIDTH, '░');
  process.stderr.write(`\r${bar} ${name}: ${done} of ${times}`);
}
