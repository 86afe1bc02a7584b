import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createFolder } from './support/process/instep-process.ts';
import { ROOT } from './support/repository.ts';

const FILES = {
  'vitest.config.js': 'export default { test: { globals: true } };',
  'passes.test.js': "test('passes', () => {});",
  'fails.test.js': "test('fails', () => expect(0).toBe(1));",
  // Leaves something behind, so that only a new process can pass.
  'fails-once.test.js': `
    import { existsSync, writeFileSync } from 'node:fs';
    test('fails once', () => {
      const hasRun = existsSync('has-run');
      writeFileSync('has-run', '');
      expect(hasRun).toBe(true);
    });`,
};

async function runTests(files: readonly (keyof typeof FILES)[], ci: { CI?: string }) {
  const folder = createFolder();
  for (const file of ['vitest.config.js', ...files] as const) {
    writeFileSync(join(folder, file), FILES[file]);
  }
  const { CI: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(ROOT, 'scripts/test.js')], {
    cwd: folder,
    env: { ...env, NO_COLOR: '1', ...ci },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const output = await text(child.stdout);
  const [status] = await exited;
  return { status, again: /^once more, alone: (.*)$/m.exec(output)?.[1] };
}

test('in CI, files that fail are run once more', async () => {
  const result = await runTests(['passes.test.js', 'fails-once.test.js'], { CI: 'true' });
  expect(result).toEqual({ status: 0, again: 'fails-once.test.js' });
});

test('in CI, files that fail twice fail the run', async () => {
  const result = await runTests(['passes.test.js', 'fails.test.js'], { CI: 'true' });
  expect(result).toEqual({ status: 1, again: 'fails.test.js' });
});

test('elsewhere, files that fail once fail the run', async () => {
  expect(await runTests(['fails-once.test.js'], {})).toEqual({ status: 1, again: undefined });
});
