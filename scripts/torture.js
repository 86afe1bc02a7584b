// npm run torture -- NAME|all [--times N]: the long form of the fault tests, which `npm test` runs in short.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const USAGE = 'usage: npm run torture -- NAME|all [--times N]   (names: tests/faults/scenarios.ts)';

function readArguments() {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { times: { type: 'string' } },
    });
    const isUnderstood =
      positionals.length === 1 && (values.times === undefined || /^[1-9]\d*$/.test(values.times));
    return isUnderstood ? { TORTURE_NAME: positionals[0], TORTURE_TIMES: values.times } : null;
  } catch {
    return null;
  }
}

const variables = readArguments();
if (variables === null) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config'];
  const { status } = spawnSync(process.execPath, [...vitest, 'tests/faults/vitest.config.ts'], {
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  });
  process.exitCode = status ?? 1;
}
