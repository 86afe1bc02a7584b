// npm run test:runtimes: runs what matters most on the runtimes beside the one that runs this, and on older
// versions of PostgreSQL.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = 'node_modules/vitest/vitest.mjs';

const MANIFEST = readFileSync(new URL('package.json', import.meta.url), 'utf8');
const { optionalDependencies } = JSON.parse(MANIFEST);

const ON_NODE = [
  'tests/contract',
  'tests/ingest/two-instances.test.ts',
  'tests/console/overview.test.ts',
  'tests/console/team.test.ts',
  'tests/faults/crashes.test.ts',
];

const ON_POSTGRES = [
  'tests/contract',
  'tests/ingest/two-instances.test.ts',
  'tests/ingest/any-order.test.ts',
  'tests/access/team-access.test.ts',
  'tests/operate/issues.test.ts',
  'tests/postgres/migrate.test.ts',
];

/** How tests run on each package. Bun otherwise gives a program that asks for Node to Node. */
function runOf(name) {
  const program = (path) => fileURLToPath(new URL(`node_modules/${name}/${path}`, import.meta.url));
  if (name === 'bun') return { command: program('bin/bun'), options: ['--bun'], tests: ON_NODE };
  if (name === 'deno') {
    const options = ['run', '--allow-all', '--node-modules-dir=manual'];
    return { command: program('deno'), options, tests: ['tests/adapters/handler.test.ts'] };
  }
  if (!name.startsWith('postgres')) {
    return { command: program('bin/node'), options: [], tests: ON_NODE };
  }
  const environment = { INSTEP_TEST_POSTGRES: program('.') };
  return { command: process.execPath, options: [], tests: ON_POSTGRES, environment };
}

for (const name of Object.keys(optionalDependencies)) {
  const { command, options, tests, environment = {} } = runOf(name);
  if (!existsSync(environment.INSTEP_TEST_POSTGRES ?? command)) {
    process.stdout.write(`${name}: skipped, because there is no package of it for this platform\n`);
    continue;
  }
  process.stdout.write(`${name}:\n`);
  const args = [...options, VITEST, 'run', '--project', 'tests', ...tests];
  const env = { ...process.env, ...environment };
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env });
  if (status !== 0) process.exitCode = 1;
}
