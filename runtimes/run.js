// npm run test:runtimes: runs what matters most on the runtimes beside the one that runs this.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = 'node_modules/vitest/vitest.mjs';

const MANIFEST = readFileSync(new URL('package.json', import.meta.url), 'utf8');
const { optionalDependencies } = JSON.parse(MANIFEST);

const TESTS = [
  'tests/contract',
  'tests/ingest/pipeline.test.ts',
  'tests/console/overview.test.ts',
  'tests/console/team.test.ts',
  'tests/faults/crashes.test.ts',
];

for (const name of Object.keys(optionalDependencies)) {
  // Bun otherwise gives a program that asks for Node to Node.
  const [program, options] = name === 'bun' ? ['bun', ['--bun']] : ['node', []];
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
