import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'packages/instep/src');
const ENGINE = join(ROOT, 'packages/engine/src');
const OPERATE = join(ROOT, 'packages/operate/src');

type Source = {
  /** Relative to the root of the project for the simulation, and to `src` for all others. */
  readonly path: string;
  /** The directory below `src`, or the name of a file in `src` itself. */
  readonly part: string;
  readonly text: string;
  readonly packages: readonly string[];
  readonly files: readonly string[];
};

function readSources(directory: string): Source[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.d)\.tsx?$/.test(path) && !path.startsWith('dist/'))
    .map((path) => {
      const text = readFileSync(join(directory, path), 'utf8');
      const code = text.replace(/^ *\*.*$/gm, '');
      const imports = [...code.matchAll(/(?:from|import\() ?'([^'\n]+)'/g)].map(
        ([, name]) => name ?? '',
      );
      const isFile = (name: string) => name.startsWith('.') || name.startsWith('instep/src/');
      const pathOf = (file: string) => relative(directory, file);
      const resolved = (name: string) =>
        name.startsWith('.')
          ? resolve(directory, dirname(path), name)
          : join(SRC, name.slice('instep/src/'.length));
      return {
        path,
        part: path.split('/')[0] ?? '',
        text,
        packages: imports.filter((name) => !isFile(name)),
        files: imports.filter(isFile).map((name) => pathOf(resolved(name))),
      };
    });
}

const sources = readSources(SRC);
const engineSources = readSources(ENGINE);
const operateSources = readSources(OPERATE);
const simulation = readSources(join(ROOT, 'simulation'));
const consoleSources = readSources(join(ROOT, 'packages/console/src'));
const createSources = readSources(join(ROOT, 'packages/create-instep/src'));

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

/** The parts of the engine with statements. */
const ENGINE_WITH_SQL = ['postgres', 'log', 'repair'];

/** The parts that own tables, or ask the engine's. */
const WITH_SQL = ['access', 'changes', 'database', 'links', 'doctor', 'audit'];
const OPERATE_WITH_SQL = ['event-log', 'teams', 'issues', 'operate'];

/** The parts that can import a package. Any part but the rule can import `node:` modules. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  // Loaded by name, where they are installed.
  'create-instep': [],
  'instep-console': [],
  'instep-embedded-postgres': [],
  commander: ['cli'],
  'next/server.js': ['adapters'],
};

const OPERATE_HOMES: typeof HOMES = {
  'prom-client': ['metrics'],
  valibot: ['operate'],
};

const ENGINE_HOMES: typeof HOMES = {
  '@opentelemetry/api': ['runtime'],
  pg: ['postgres'],
  jose: ['http'],
  valibot: ['stripe', 'postgres', 'http', 'repair'],
};

const IMPURE = /Date\.now\(\)|new Date\(\)|Math\.random\(|randomUUID\(|randomBytes\(/;

/** The name of the package without a subpath: `@hono/node-server`, `jose` of `jose/jwt/verify`. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The paths of the sources that this is true of. */
const pathsOf = (among: readonly Source[], isWrong: (source: Source) => boolean) =>
  among.filter(isWrong).map(({ path }) => path);

test.each([
  ['instep', sources, LAYERS],
  ['instep-engine', engineSources, ENGINE_LAYERS],
  ['instep-operate', operateSources, OPERATE_LAYERS],
] as const)('in %s every folder imports only folders of lower layers', (_, among, layers) => {
  const strange = among.flatMap(({ path, part, files }) =>
    files
      .map((file) => file.split('/')[0] ?? '')
      .filter((other) => other !== part && !isBelow(part, other, layers))
      .map((other) => `${path} imports ${other}`),
  );
  expect(strange).toEqual([]);
  expect(layers.flat()).toEqual(expect.arrayContaining(among.map(({ part }) => part)));
});

test('the rule imports nothing, and the engine few packages', () => {
  const ofRule = engineSources.filter(({ part }) => part === 'rule');
  expect(pathsOf(ofRule, ({ packages }) => packages.length > 0)).toEqual([]);
  const isStrange = ({ part, packages }: Source) =>
    packages.some(
      (name) => !name.startsWith('node:') && !ENGINE_HOMES[packageOf(name)]?.includes(part),
    );
  expect(pathsOf(engineSources, isStrange)).toEqual([]);
});

test("packages are imported only by their own folders, and by the console only the operators' API", () => {
  const isStrange = ({ part, packages }: Source) =>
    packages.some((name) => !(HOMES[packageOf(name)] ?? [part]).includes(part));
  expect(pathsOf(sources, isStrange)).toEqual([]);
  const ofOperators = /^(?:node:|instep-engine(?:\/\w+)?$)/;
  const isForeign = ({ part, packages }: Source) =>
    packages.some((name) => !ofOperators.test(name) && !OPERATE_HOMES[name]?.includes(part));
  expect(pathsOf(operateSources, isForeign)).toEqual([]);
  const known = /^(?:node:|hono\b|@hono\/node-server$|instep-operate$)/;
  const isUnknown = ({ text, packages }: Source) =>
    packages.some((name) => !known.test(name)) || text.includes('instep/src');
  expect(pathsOf(consoleSources, isUnknown)).toEqual([]);
  const reachesInto = ({ text }: Source) => /instep(?:-engine|-operate)?\/src/.test(text);
  expect(pathsOf([...sources, ...operateSources, ...createSources], reachesInto)).toEqual([]);
});

test('SQL stands only where a feature owns tables', () => {
  const sql = /['"`]\s*(select\s|insert into|update \w+\s+set|delete from|(create|alter) table)/i;
  const isStrange =
    (parts: readonly string[]) =>
    ({ part, text }: Source) =>
      !parts.includes(part) && sql.test(text);
  expect(pathsOf(sources, isStrange(WITH_SQL))).toEqual([]);
  expect(pathsOf(engineSources, isStrange(ENGINE_WITH_SQL))).toEqual([]);
  expect(pathsOf(operateSources, isStrange(OPERATE_WITH_SQL))).toEqual([]);
});

test('the clock and randomness are arguments', () => {
  const isComposer = ({ part, path }: Source) =>
    ['cli', 'instep.ts'].includes(part) ||
    ['operators-listener/open-operations.ts', 'operate/open-context.ts'].includes(path);
  expect(pathsOf(sources, (one) => !isComposer(one) && IMPURE.test(one.text))).toEqual([]);
  const isImpure = ({ text }: Source) => IMPURE.test(text);
  expect(pathsOf([...operateSources, ...consoleSources], isImpure)).toEqual([]);
  const isEngine = ({ path }: Source) => path === 'engine.ts';
  expect(pathsOf(engineSources, (one) => !isEngine(one) && IMPURE.test(one.text))).toEqual([]);
});

test.each([
  ['instep', sources],
  ['instep-engine', engineSources],
  ['instep-operate', operateSources],
  ['instep-console', consoleSources],
  ['create-instep', createSources],
])('in %s no file imports itself, directly or through others', (_, among) => {
  const importsOf = new Map(among.map(({ path, files }) => [path, files]));
  const cycles: string[] = [];
  const done = new Set<string>();
  function visit(path: string, trail: readonly string[]): void {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (trail.includes(path) || done.has(path)) return;
    for (const next of importsOf.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  }
  for (const { path } of among) visit(path, []);
  expect(cycles).toEqual([]);
});

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
