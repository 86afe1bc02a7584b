import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type PlantedBug, textWith } from './bugs.ts';

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

export type PlantedCopy = {
  /** Runs the simulation to its end. */
  run(args: readonly string[]): Promise<Ended>;
  /** Runs tests against the copy. */
  test(args: readonly string[]): Promise<Ended>;
  remove(): void;
};

/** A copy of the project with one more bug. The project itself stays unchanged. */
export function plant(bug: PlantedBug | null): PlantedCopy {
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
