// npm run test:runtimes: runs what matters most on the runtimes beside the one that runs this.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = 'node_modules/vitest/vitest.mjs';

/** The packages of this folder, and how each runs a program that asks for Node. */
const RUNTIMES = {
  node22: { program: 'node', options: [] },
  node24: { program: 'node', options: [] },
  bun: { program: 'bun', options: ['--bun'] },
};

const TESTS = [
  'tests/contract',
  'tests/ingest/pipeline.test.ts',
  'tests/console/overview.test.ts',
  'tests/console/team.test.ts',
  'tests/faults/crashes.test.ts',
];

for (const [name, { program, options }] of Object.entries(RUNTIMES)) {
  const command = fileURLToPath(new URL(`node_modules/${name}/bin/${program}`, import.meta.url));
  if (!existsSync(command)) {
    process.stdout.write(`${name}: skipped, because there is no package of it for this platform\n`);
    continue;
  }
  process.stdout.write(`${name}:\n`);
  const args = [...options, VITEST, 'run', ...TESTS];
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
