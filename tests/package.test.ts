import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'instep-package-'));
  folders.push(made);
  return made;
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

/** `dist` is built already, and must not change under the other tests. */
async function pack(): Promise<{ tarball: string; files: string[] }> {
  const destination = folder();
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new RangeError('npm packed nothing');
  const files = packed.files.map(({ path }) => path);
  return { tarball: join(destination, packed.filename), files };
}

test('the package holds the program, its migrations and its docs, and no tests', async () => {
  const { files } = await pack();
  expect(files).toContain('dist/cli/instep.js');
  expect(files).toContain('dist/index.js');
  expect(files).toContain('dist/index.d.ts');
  expect(files).toContain('dist/postgres/migrations/0001_instep.sql');
  expect(files).toContain('dist/operations/console/assets/style.css');
  expect(files).toContain('LICENSE');
  expect(files.filter((path) => /^(tests|src|data|node_modules)\/|\.test\./.test(path))).toEqual(
    [],
  );
});

test('it installs into an empty project, where the command and the library run', async () => {
  const { tarball } = await pack();
  const cwd = folder();
  writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
  await run('npm', ['install', '--omit=optional', '--no-audit', '--no-fund', tarball], { cwd });
  const help = await run('npx', ['instep', '--help'], { cwd });
  expect(help.stdout).toContain('Usage: instep');
  const script = `import { openInstep } from 'instep'; console.log(typeof openInstep);`;
  const imported = await run(process.execPath, ['--input-type=module', '-e', script], { cwd });
  expect(imported.stdout.trim()).toBe('function');
}, 120_000);
