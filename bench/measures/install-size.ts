import { execFile } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type InstallSize = { readonly megabytes: number; readonly packages: number };

const BLOCK_BYTES = 512;

/** The size of the library in an empty project. */
export async function measureInstall(root: string): Promise<InstallSize> {
  const folder = mkdtempSync(join(tmpdir(), 'instep-bench-install-'));
  try {
    const workspaces = ['instep', 'instep-engine', 'instep-operate'].map(
      (one) => `--workspace=${one}`,
    );
    const pack = ['pack', '--json', ...workspaces, '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { cwd: root });
    const packed = JSON.parse(stdout) as { filename: string }[];
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
    const tarballs = packed.map(({ filename }) => join(folder, filename));
    await run('npm', [...install, ...tarballs], { cwd: folder });
    const lock = readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as { packages: Record<string, unknown> };
    return {
      megabytes: bytesOnDisk(join(folder, 'node_modules')) / 1_000_000,
      packages: Object.keys(packages).length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As `du` counts them. */
function bytesOnDisk(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => (lstatSync(join(folder, path)).blocks ?? 0) * BLOCK_BYTES)
    .reduce((sum, bytes) => sum + bytes, 0);
}
