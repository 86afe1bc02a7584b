import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

type Source = {
  /** Relative to the root of the project for the simulation, and to `src` for all others. */
  readonly path: string;
  /** The directory below `src`, or the name of a file in `src` itself. */
  readonly part: string;
  /** Without comments. */
  readonly code: string;
  readonly packages: readonly string[];
  readonly files: readonly string[];
};

function readSources(directory: string): Source[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.d)\.tsx?$/.test(path) && !path.startsWith('dist/'))
    .map((path) => {
      const code = readFileSync(join(directory, path), 'utf8').replace(/^ *\*.*$/gm, '');
      const imports = [...code.matchAll(/(?:from|import)[ (]'([@\w./:-]+)'/g)].map(
        ([, name = '']) => name,
      );
      const isFile = (name: string) => name.startsWith('.');
      const pathOf = (name: string) => relative(directory, resolve(directory, dirname(path), name));
      return {
        path,
        part: path.split('/')[0] ?? '',
        code,
        packages: imports.filter((name) => !isFile(name)),
        files: imports.filter(isFile).map(pathOf),
      };
    });
}

const sourcesOf = (name: string) => readSources(join(ROOT, 'packages', name, 'src'));
const simulation = readSources(join(ROOT, 'simulation'));

/** Every file that these files import, directly or through others; themselves included. */
function reachedFrom(paths: readonly string[], among: readonly Source[]): Set<string> {
  const importsOf = new Map(among.map(({ path, files }) => [path, files]));
  const reached = new Set<string>();
  function visit(path: string): void {
    if (reached.has(path)) return;
    reached.add(path);
    for (const next of importsOf.get(path) ?? []) visit(next);
  }
  for (const path of paths) visit(path);
  return reached;
}

/**
 * The layers of the code, the lowest first: a part imports from layers below its own, and from nothing
 * beside it (docs/ARCHITECTURE.md).
 */
const LAYERS: readonly (readonly string[])[] = [
  ['runtime', 'testing'],
  ['config'],
  ['access', 'changes', 'links'],
  ['database'],
  ['checkout'],
  ['operate'],
  ['doctor', 'operators-listener'],
  ['audit'],
  ['instep.ts'],
  ['adapters'],
  ['index.ts', 'cli'],
];

/** The same of the engine. The rule imports nothing. */
const ENGINE_LAYERS: typeof LAYERS = [
  ['rule', 'runtime'],
  ['stripe'],
  ['postgres'],
  ['log'],
  ['http', 'repair'],
  ['feature.ts'],
  ['engine.ts'],
  ['index.ts'],
];

/** The same of the operators' API. */
const OPERATE_LAYERS: typeof LAYERS = [
  ['runtime'],
  ['event-log'],
  ['teams'],
  ['issues'],
  ['operate'],
  ['metrics'],
  ['operators-listener'],
  ['index.ts', 'feature.ts', 'host.ts'],
];

function isBelow(part: string, other: string, layers: typeof LAYERS): boolean {
  const layerOf = (name: string) => layers.findIndex((layer) => layer.includes(name));
  return layerOf(other) !== -1 && layerOf(other) < layerOf(part);
}

/** The packages of npm that each of ours can import, and of ours those below it. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  engine: ['@opentelemetry/api', 'jose', 'pg', 'valibot'],
  operate: ['instep-engine', 'prom-client', 'valibot'],
  console: ['@hono/node-server', 'hono', 'instep-operate'],
  instep: [
    ...['commander', 'instep-engine', 'instep-operate', 'next', 'valibot'],
    // Loaded by name, where they are installed.
    ...['create-instep', 'instep-console', 'instep-embedded-postgres'],
  ],
};

/** The name of the package without a subpath: `@hono/node-server`, `jose` of `jose/jwt/verify`. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

test.each([
  ['instep', LAYERS],
  ['engine', ENGINE_LAYERS],
  ['operate', OPERATE_LAYERS],
] as const)('in %s every folder imports only folders of lower layers', (name, layers) => {
  const among = sourcesOf(name);
  const strange = among.flatMap(({ path, part, files }) =>
    files
      .map((file) => file.split('/')[0] ?? '')
      .filter((other) => other !== part && !isBelow(part, other, layers))
      .map((other) => `${path} imports ${other}`),
  );
  expect(strange).toEqual([]);
  expect(layers.flat()).toEqual(expect.arrayContaining(among.map(({ part }) => part)));
});

test.each(Object.entries(IMPORTS))(
  '%s imports only packages that it may, and of ours only what they export',
  (name, allowed) => {
    const isStrange = (one: string) =>
      !one.startsWith('node:') && (!allowed.includes(packageOf(one)) || one.includes('/src/'));
    const strange = sourcesOf(name).flatMap(({ path, packages }) =>
      packages.filter(isStrange).map((one) => `${path} imports ${one}`),
    );
    expect(strange).toEqual([]);
  },
);

test('the rule imports no package, and knows neither the time nor chance', () => {
  const ofRule = sourcesOf('engine').filter(({ part }) => part === 'rule');
  expect(ofRule.length).toBeGreaterThan(5);
  expect(ofRule.flatMap(({ packages }) => packages)).toEqual([]);
  const isImpure = /\bDate\.now\b|new Date\(\)|\bMath\.random\b|\bperformance\.|\bcrypto\./;
  expect(ofRule.filter(({ code }) => isImpure.test(code)).map(({ path }) => path)).toEqual([]);
});

test.each([...Object.keys(IMPORTS), 'create-instep'])(
  'in %s no file imports itself, through others',
  (name) => {
    const among = sourcesOf(name);
    const isInCycle = ({ path, files }: Source) => reachedFrom(files, among).has(path);
    expect(among.filter(isInCycle).map(({ path }) => path)).toEqual([]);
  },
);

test('the expected team and the simulated Stripe share no code with what they check', () => {
  const expectation = reachedFrom(['expected-team.ts'], simulation);
  const isIndependent = (path: string) => !path.startsWith('..');
  expect(expectation).toContain('expected-team.ts');
  expect([...expectation].filter((path) => !isIndependent(path))).toEqual([]);

  const simulatedStripe = simulation.filter(({ path }) => path.startsWith('lifecycle/'));
  expect(simulatedStripe.length).toBeGreaterThan(5);
  const reached = reachedFrom(
    simulatedStripe.map(({ path }) => path),
    simulation,
  );
  const isOwn = (path: string) => path.startsWith('lifecycle/') || path === 'random.ts';
  expect([...reached].filter((path) => !isOwn(path))).toEqual([]);
});
