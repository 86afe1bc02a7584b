import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageWrong } from '../options.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** Builds another commit with its own packages, in its own folder. Returns its command. */
export function buildEarlierProgram(ref: string): string {
  const parent = mkdtempSync(join(tmpdir(), 'instep-bench-against-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const archive = join(parent, 'source.tar');
  try {
    execFileSync('git', ['archive', `--output=${archive}`, '--end-of-options', ref], { cwd: ROOT });
  } catch (cause) {
    throw new UsageWrong(`--against ${ref}: git knows no such commit`, { cause });
  }
  const folder = join(parent, 'source');
  mkdirSync(folder);
  const run = (program: string, ...options: string[]) =>
    execFileSync(program, options, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  run('tar', '-xf', archive);
  run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline');
  run('npm', 'run', '--silent', 'build');
  // Before the packages, the build was in the root.
  const programs = ['packages/instep/dist/cli/instep.js', 'dist/cli/instep.js'];
  const program = programs.map((path) => join(folder, path)).find((path) => existsSync(path));
  if (program === undefined) throw new UsageWrong(`--against ${ref}: the commit has no command`);
  return program;
}
