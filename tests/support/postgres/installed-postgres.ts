import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type InstalledPostgres = {
  readonly name: string;
  readonly url: string;
  stop(): Promise<void>;
};

const ROOT = '/usr/lib/postgresql';
const UNPRIVILEGED_UID = 65_534;

/** Starts the PostgreSQL server that is installed on the machine, or returns `null`. */
export async function startInstalledPostgres(): Promise<InstalledPostgres | null> {
  const version = installedVersion();
  if (version === null) return null;
  const folder = mkdtempSync(join(tmpdir(), 'instep-installed-'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
  const options = {
    cwd: '/',
    env: { LC_ALL: 'C' },
    ...(isRoot && { uid: UNPRIVILEGED_UID, gid: UNPRIVILEGED_UID }),
  };
  const data = join(folder, 'data');
  const bin = (program: string) => join(ROOT, version, 'bin', program);
  const initdb = ['-D', data, '-U', 'instep', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  execFileSync(bin('initdb'), initdb, { ...options, stdio: 'ignore' });
  const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
  const server = spawn(bin('postgres'), ['-D', data, ...settings], { ...options, stdio: 'ignore' });
  return {
    name: `PostgreSQL ${version}, as installed`,
    url: `postgres:///postgres?host=${encodeURIComponent(folder)}&user=instep`,
    async stop() {
      const exited = once(server, 'exit');
      server.kill('SIGQUIT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function installedVersion(): string | null {
  try {
    const versions = readdirSync(ROOT).filter((name) => Number(name) >= 14);
    return versions.sort((a, b) => Number(b) - Number(a))[0] ?? null;
  } catch {
    return null;
  }
}
