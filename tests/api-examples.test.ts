import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMigratedDatabase } from './support/postgres/test-database.ts';
import { SETTINGS } from './support/process/instep-process.ts';
import { INSTEP, ROOT } from './support/repository.ts';
import { someOf } from './support/test-length.ts';

const run = promisify(execFile);
const ENTRY_POINTS = ['instep', 'instep/next', 'instep/node', 'instep/operate', 'instep/testing'];

/** The names of a module's exported functions. Classes are left out. */
async function functionsOf(path: string): Promise<string[]> {
  return Object.entries(await import(path))
    .filter(([, value]) => typeof value === 'function' && !String(value).startsWith('class'))
    .map(([name]) => name);
}

const functions = (await Promise.all(ENTRY_POINTS.map(functionsOf))).flat();
const OPERATE = await functionsOf('instep/operate');

const sources = ['instep', 'operate', 'engine']
  .map((name) => `packages/${name}/src`)
  .flatMap((source) =>
    readdirSync(join(ROOT, source), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(join(ROOT, source, path), 'utf8')),
  );

/** The code of the example in the function's doc comment. */
function exampleOf(name: string): string | undefined {
  const declaration = `export (?:async )?(?:function\\*?|const) (?:\\{[^}]*\\b)?${name}\\b`;
  const pattern = new RegExp(`/\\*\\*((?:(?!\\*/)(?:.|\\n))*)\\*/\\s*${declaration}`);
  const comment =
    sources.map((text) => pattern.exec(text)?.[1]).find((found) => found?.includes('@example')) ??
    '';
  return /@example\n \* ```ts\n((?:.|\n)*?) \* ```/.exec(comment)?.[1]?.replaceAll(/^ \* ?/gm, '');
}

/** The example as a program: those of `instep/operate` begin where that of `openContext` has ended. */
function programOf(name: string): string | undefined {
  const example = exampleOf(name);
  if (example === undefined || example.includes('import ') || !OPERATE.includes(name))
    return example;
  const names = OPERATE.filter((one) => new RegExp(`\\b${one}\\(`).test(example));
  const operator = "const operator = { name: 'user:7', how: 'application' } as const;";
  return [
    `import { openContext, ${names.join(', ')} } from 'instep/operate';`,
    'const context = await openContext();',
    ...(/\boperator,/.test(example) ? [operator] : []),
    `${example}await context.close();`,
  ].join('\n');
}

const examples = new Map(functions.map((name) => [name, programOf(name)]));

const folder = mkdtempSync(join(tmpdir(), 'instep-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(INSTEP, join(folder, 'node_modules/instep'));
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const compilerOptions = {
    ...{ noEmit: false, allowImportingTsExtensions: false, paths: {} },
    ...{ rootDir: '.', outDir: 'out', typeRoots },
  };
  const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const [name, example] of examples) writeFileSync(join(folder, `${name}.ts`), `${example}`);
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
});

/** The output that the example's comments announce; `…` stands for any text. */
function announced(example: string): string[] {
  return [...example.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(([, output = '']) => output);
}

function matches(output: string, expected: string): boolean {
  const parts = expected.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(output);
}

test('there are exported functions', () => {
  expect(functions).toContain('openInstep');
  expect(functions).toContain('createSubscriptionEvent');
});

test.each([...examples])('%s has an example', (name, example) => {
  expect(example).toContain(name);
});

// Each takes a process and a database.
test.each(someOf(5, functions))('the example of %s runs', async (name) => {
  const example = examples.get(name) ?? '';
  const env = { PATH: process.env.PATH, DATABASE_URL: (await createMigratedDatabase()).href };
  const { stdout } = await run(process.execPath, [join(folder, 'out', `${name}.js`)], {
    env: { ...env, ...SETTINGS },
    timeout: 30_000,
  });
  const lines = stdout.split('\n');
  for (const expected of announced(example)) {
    expect(
      lines.some((line) => matches(line, expected)),
      `${stdout} lacks ${expected}`,
    ).toBe(true);
  }
});
