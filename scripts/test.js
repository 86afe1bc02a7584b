// npm test, test:all, test:long: runs the tests; with --long, the files that npm test leaves out or shortens. In CI, a busy
// machine must not hold up a change: files that fail are run once more, when no others run. The output names them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

/** What makes a file run longer, or only, in the complete run. */
const IS_LONG = /\/(?:test-length|short-form)\.ts'/;

function longFiles() {
  const files = readdirSync('tests', { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('tests', file))
    .filter((file) => file.endsWith('.long.test.ts') || IS_LONG.test(readFileSync(file, 'utf8')));
}

const options = process.argv.slice(2).flatMap((one) => (one === '--long' ? longFiles() : one));
process.exitCode = process.env.CI === undefined ? run(options) : runInCi(options);
