import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { PLANTED_BUGS, type PlantedBug, TESTS, textWith } from './bugs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = [
  ...['packages', 'simulation', 'scripts', 'tests', 'package.json'],
  ...['tsconfig.json', 'rolldown.tools.config.js', 'vitest.config.ts'],
];

type Ended = {
  readonly code: number;
  readonly stdout: string;
  /** Whether it had to be stopped. */
  readonly isEndless: boolean;
};

type PlantedCopy = {
  /** Runs the simulation to its end. */
  run(args: readonly string[]): Promise<Ended>;
  /** Runs tests against the copy. */
  test(args: readonly string[]): Promise<Ended>;
  remove(): void;
};

/** A copy of the project with one more bug. The project itself stays unchanged. */
function plant(bug: PlantedBug | null): PlantedCopy {
  const folder = mkdtempSync(join(tmpdir(), 'instep-planted-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  if (bug !== null) {
    const path = join(folder, bug.file);
    writeFileSync(path, textWith(bug, readFileSync(path, 'utf8')));
  }
  let compiling: Promise<Ended> | undefined;
  return {
    async run(args) {
      // A bug can leave an import unused, so only the written output counts.
      const rolldown = join(ROOT, 'node_modules/.bin/rolldown');
      compiling ??= execute(rolldown, ['-c', 'rolldown.tools.config.js'], folder);
      await compiling;
      return execute(process.execPath, ['simulation/dist/simulation/main.js', ...args], folder);
    },
    test: (args) => execute(join(ROOT, 'node_modules/.bin/vitest'), ['run', ...args], folder),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const TIMEOUT_MS = 600_000;

function execute(program: string, args: readonly string[], cwd: string) {
  return new Promise<Ended>((done) => {
    const options = { cwd, env: { PATH: process.env.PATH }, timeout: TIMEOUT_MS };
    execFile(program, args, options, (error, stdout) => {
      const code = error === null ? 0 : Number(error.code ?? -1);
      done({ code, stdout, isEndless: error?.killed ?? false });
    });
  });
}

type Detector = {
  readonly name: string;
  readonly args: readonly string[];
  /** Whether it runs tests instead of the simulation. */
  readonly isTest?: boolean;
};

const CORE: readonly Detector[] = [
  { name: 'core', args: ['--seeds', '100', '--deliveries', '50000'] },
  { name: 'enumeration', args: ['--enumerate', '3', '--extra', '1'] },
  { name: 'core, longer', args: ['--seeds', '2000', '--deliveries', '400000'] },
];

const STORE: readonly Detector[] = [
  { name: 'store', args: ['--level', 'store', '--seeds', '240', '--deliveries', '6000'] },
];

const byTests = (paths: readonly string[]): readonly Detector[] =>
  paths.map((path) => ({ name: path, args: [path], isTest: true }));
const UNIT = byTests(TESTS.unit);
const ENGINE = byTests(TESTS.engine);

const DETECTORS = { core: CORE, store: STORE, unit: UNIT, engine: ENGINE };

const rows: string[][] = [];

afterAll(() => {
  const head = ['bug', 'found by', 'after deliveries'];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  process.stdout.write(`\n${lines.join('\n')}\n`);
});

/** The first detector that exits with 1, and the number of deliveries until then. */
async function find(copy: PlantedCopy, detectors: readonly Detector[]) {
  for (const { name, args, isTest } of detectors) {
    if (isTest) {
      if ((await copy.test(args)).code !== 0) return { name, deliveries: '' };
      continue;
    }
    const { code, stdout, isEndless } = await copy.run(['--json', ...args]);
    // Only what computes alone is endless when it does not end in time; a database can also be slow.
    if (code === 0 || (isEndless && detectors === STORE)) continue;
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const counts = lines.map((line) => Number(JSON.parse(line).deliveries));
    const deliveries = counts.reduce((sum, count) => sum + count, 0);
    if (isEndless) return { name, deliveries: 'it never ends' };
    return { name, deliveries: lines.length === 0 ? 'it crashes' : String(deliveries) };
  }
  return null;
}

test('finds nothing without a bug', async () => {
  const copy = plant(null);
  try {
    expect(await find(copy, [...CORE.slice(0, 2), ...STORE, ...UNIT, ...ENGINE])).toBeNull();
  } finally {
    copy.remove();
  }
});

describe.concurrent.each(PLANTED_BUGS)('$name', (bug: PlantedBug) => {
  test('is found', async () => {
    const copy = plant(bug);
    try {
      const found = await find(copy, DETECTORS[bug.level]);
      rows.push([bug.name, found?.name ?? 'NOTHING', found?.deliveries ?? '']);
      expect(found).not.toBeNull();
    } finally {
      copy.remove();
    }
  });
});
