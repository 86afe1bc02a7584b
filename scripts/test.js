// npm test, npm run test:all: runs the tests. In CI, a busy machine must not hold up a change: files that fail are run
// once more, when no others run. The output names them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const VITEST = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));

/** More are no accident. */
const MAX_FAILED = 5;

function run(options) {
  return spawnSync(process.execPath, [VITEST, 'run', ...options], { stdio: 'inherit' }).status ?? 1;
}

/** @returns the files that failed; none if the run failed for another reason */
function failedFiles(report) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.filter(({ status }) => status === 'failed');
  return failed.map(({ name }) => relative('.', name));
}

function runInCi(options) {
  const folder = mkdtempSync(join(tmpdir(), 'instep-report-'));
  try {
    const report = join(folder, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const status = run([...reporters, ...options]);
    if (status === 0) return 0;
    const files = failedFiles(report);
    if (files.length === 0 || files.length > MAX_FAILED) return status;
    process.stdout.write(`once more, alone: ${files.join(' ')}\n`);
    return run(files);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const options = process.argv.slice(2);
process.exitCode = process.env.CI === undefined ? run(options) : runInCi(options);
