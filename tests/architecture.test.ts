import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

type Source = {
  readonly path: string;
  /** The folder below `src`, or the name of a file that stands in `src` itself. */
  readonly part: string;
  readonly text: string;
  readonly packages: readonly string[];
  readonly files: readonly string[];
};

const sources: readonly Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const imports = [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(
      ([, name]) => name ?? '',
    );
    const isFile = (name: string) => name.startsWith('.');
    return {
      path,
      part: path.split('/')[0] ?? '',
      text,
      packages: imports.filter((name) => !isFile(name)),
      files: imports.filter(isFile).map((name) => relative(SRC, resolve(SRC, dirname(path), name))),
    };
  });

/** Which parts a part may import, beside itself. Arrows point down only (docs/ARCHITECTURE.md). */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  subscriptions: [],
  stripe: ['subscriptions'],
  sessions: [],
  database: [],
  store: ['database', 'subscriptions'],
  sync: ['store', 'database', 'stripe', 'subscriptions'],
  // Looks at everything from outside, and takes part in nothing.
  doctor: ['store', 'database', 'stripe', 'config.ts', 'duration.ts'],
  http: ['sync', 'store', 'sessions', 'stripe'],
  // The operators' pages, on a listener of their own.
  console: [
    ...['http', 'sync', 'store', 'database', 'stripe', 'subscriptions'],
    ...['background.ts', 'duration.ts', 'time-since.ts'],
  ],
  // Counts what the others do. They do not know of it: `instep.ts` wraps them.
  metrics: ['http', 'sync', 'store', 'database', 'stripe'],
  simulation: ['sync', 'store', 'database', 'stripe', 'subscriptions'],
  'instep.ts': [
    ...['http', 'metrics', 'sync', 'store', 'database', 'sessions', 'stripe', 'config.ts'],
  ],
  // Opens the operators' listener, and loads their pages when the public is served already.
  'operations.ts': ['background.ts', 'console', 'http', 'sync', 'database', 'stripe', 'config.ts'],
  'index.ts': ['instep.ts', 'http', 'sync', 'store', 'database', 'config.ts'],
  cli: [
    ...['instep.ts', 'operations.ts', 'http', 'sync', 'store', 'database', 'sessions', 'stripe'],
    ...['doctor', 'metrics', 'simulation', 'subscriptions', 'config.ts'],
    ...['duration.ts', 'time-since.ts'],
  ],
  'config.ts': ['config', 'database', 'duration.ts'],
  config: ['duration.ts'],
  'time-since.ts': ['duration.ts'],
  'background.ts': [],
  'duration.ts': [],
  'logging.ts': [],
  'deadline.ts': [],
  'errors.ts': [],
  'tracing.ts': [],
};

/** What every part may import, but the core, which imports nothing. */
const GROUND = ['errors.ts', 'deadline.ts', 'logging.ts', 'tracing.ts'];

/** Where a package may be imported; `node:` modules and others anywhere but in the core. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  pg: ['database'],
  hono: ['http', 'console'],
  '@hono/node-server': ['http'],
  'htmx.org': ['console'],
  'prom-client': ['metrics'],
  stripe: ['stripe'],
  jose: ['sessions'],
  commander: ['cli'],
  // What a span may say is decided in one place.
  '@opentelemetry/api': ['tracing.ts'],
};

/** Without what is named within it: `@hono/node-server`, `jose` of `jose/jwt/verify`. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

describe.each(sources)('src/$path', ({ path, part, text, packages, files }) => {
  test('imports only what stands below it', () => {
    const allowed = [part, ...(BELOW[part] ?? []), ...(part === 'subscriptions' ? [] : GROUND)];
    expect(Object.keys(BELOW)).toContain(part);
    expect(files.filter((file) => !allowed.includes(file.split('/')[0] ?? ''))).toEqual([]);
  });

  test('imports packages only where they are at home', () => {
    const strange = packages.filter((name) => !(HOMES[packageOf(name)] ?? [part]).includes(part));
    expect(strange).toEqual([]);
    if (part === 'subscriptions') expect(packages).toEqual([]);
  });

  test("needs none of the operators' pages to begin", () => {
    const imports =
      text.match(/^(?:import|export) (?!type)[^;]*from '[^']*\/console\/[^']*'/gm) ?? [];
    if (part !== 'console') expect(imports).toEqual([]);
  });

  test('has 300 lines at most, and a name that says what it holds', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(300);
    expect(path).not.toMatch(/\b(utils?|helpers?|types|common|misc|shared|lib)\b/);
    expect(path).toMatch(/^[a-z0-9/-]+\.tsx?$/);
  });

  test('holds SQL only where SQL is at home', () => {
    const isHome = part === 'store' || part === 'database';
    const sql = /['"`]\s*(select\s|insert into|update \w+\s+set|delete from|(create|alter) table)/i;
    if (!isHome) expect(text).not.toMatch(sql);
  });

  test('takes clock and chance as arguments', () => {
    const isComposer = ['cli', 'database', 'instep.ts', 'operations.ts'].includes(part);
    const impure = /Date\.now\(\)|new Date\(\)|Math\.random\(|randomUUID\(|randomBytes\(/;
    if (!isComposer) expect(text).not.toMatch(impure);
  });

  test('silences no check', () => {
    expect(text).not.toMatch(/biome-ignore|@ts-|\bas any\b|\bas unknown as\b|: any\b/);
    expect(text).not.toMatch(/catch( \(\w+\))? \{\s*\}/);
    expect(text).not.toMatch(/\b(TODO|FIXME|XXX)\b/);
  });
});

test('no file imports itself, over whatever others', () => {
  const importsOf = new Map(sources.map(({ path, files }) => [path, files]));
  const cycles: string[] = [];
  const done = new Set<string>();
  function visit(path: string, trail: readonly string[]): void {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (trail.includes(path) || done.has(path)) return;
    for (const next of importsOf.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  }
  for (const { path } of sources) visit(path, []);
  expect(cycles).toEqual([]);
});

test('the auditor and the provider share no code with what they audit', () => {
  const importsOf = new Map(sources.map(({ path, files }) => [path, files]));
  const reached = new Set<string>();
  function visit(path: string): void {
    if (reached.has(path)) return;
    reached.add(path);
    for (const next of importsOf.get(path) ?? []) visit(next);
  }
  const independent = sources
    .map(({ path }) => path)
    .filter((path) => /^simulation\/(auditor\.ts|provider\/)/.test(path));
  for (const path of independent) visit(path);
  expect(independent.length).toBeGreaterThan(5);
  expect([...reached].filter((path) => !path.startsWith('simulation/'))).toEqual([]);
});

test('every file is reached from the command or from the library', () => {
  const importsOf = new Map(sources.map(({ path, files }) => [path, files]));
  const reached = new Set<string>();
  function visit(path: string): void {
    if (reached.has(path)) return;
    reached.add(path);
    for (const next of importsOf.get(path) ?? []) visit(next);
  }
  visit('cli/instep.ts');
  visit('index.ts');
  expect(sources.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});
