import { describe, test } from 'vitest';
import { SCENARIOS } from './scenarios.ts';

/** The arguments of `scripts/torture.js`. */
const { TORTURE_NAME: name = 'all', TORTURE_TIMES } = process.env;
const WIDTH = 30;

const chosen = Object.entries(SCENARIOS).filter(([one]) => name === 'all' || name === one);
if (chosen.length === 0) {
  throw new RangeError(
    `${name} is not a scenario. Choose one of ${Object.keys(SCENARIOS).join(', ')}, or all`,
  );
}

describe.each(chosen)('%s', (one, scenario) => {
  test.skipIf(scenario.isPossible?.() === false)(
    `${scenario.fault}: ${scenario.promise}`,
    async () => {
      const times = TORTURE_TIMES === undefined ? scenario.times.long : Number(TORTURE_TIMES);
      const figures = await scenario.run({
        times,
        onProgress: (done) => showProgress(one, done, times),
      });
      process.stderr.write('\n');
      process.stdout.write(`${JSON.stringify({ name: one, ...figures })}\n`);
    },
  );
});

function showProgress(one: string, done: number, times: number): void {
  const bar = '█'.repeat(Math.round((done / times) * WIDTH)).padEnd(WIDTH, '░');
  process.stderr.write(`\r${bar} ${one}: ${done} of ${times}`);
}
