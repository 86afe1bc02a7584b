// Finds the programs that this machine must have.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const INSTEP = new URL('../../../packages/instep/dist/cli/instep.js', import.meta.url)
  .pathname;

/** The programs, and the Debian packages that contain them. */
const PACKAGES = {
  ip: 'iproute2',
  nsenter: 'util-linux',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
};
const INSTALL =
  'apt-get install --no-install-recommends ' +
  `${Object.values(PACKAGES).join(' ')} postgresql patroni python3-etcd`;

/**
 * 3.0.2 can take a lost leader key back, which discards acknowledged commits.
 */
const OLDEST_PATRONI = [3, 0, 3];

const POSTGRESQL = '/usr/lib/postgresql';

/** The paths of all programs, and a line for each that is missing. */
export function findRequirements() {
  const missing = [];
  if (process.getuid?.() !== 0) missing.push('not root, who can create network namespaces');

  const programs = {};
  for (const name of Object.keys(PACKAGES)) {
    programs[name] = find(name);
    if (programs[name] === undefined) missing.push(`${name} (package ${PACKAGES[name]})`);
  }
  programs.postgresBin = newestPostgres();
  if (programs.postgresBin === undefined) missing.push('PostgreSQL (package postgresql)');
  programs.patroni = process.env.PATRONI ?? find('patroni');
  const problem = problemOfPatroni(programs.patroni);
  if (problem !== undefined) missing.push(problem);
  if (!existsSync(INSTEP)) missing.push('the build of Instep: run npm ci in the root of the clone');
  return { programs, missing };
}

/** @param {readonly string[]} missing */
export function explain(missing) {
  const lines = missing.map((line) => `- ${line}\n`).join('');
  return `The cluster can't be built here. Missing:\n${lines}\nOn Debian 13, as root: ${INSTALL}\n`;
}

function find(program) {
  const folders = `${process.env.PATH ?? ''}`.split(':').filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function newestPostgres() {
  const versions = existsSync(POSTGRESQL) ? readdirSync(POSTGRESQL) : [];
  const [newest] = versions
    .map((version) => join(POSTGRESQL, version, 'bin'))
    .filter((folder) => isExecutable(join(folder, 'postgres')))
    .sort((one, other) => versionOf(other) - versionOf(one));
  return newest;
}

const versionOf = (folder) => Number(folder.split('/').at(-2));

function problemOfPatroni(patroni) {
  if (patroni === undefined) return 'patroni (packages patroni and python3-etcd)';
  let text;
  try {
    text = execFileSync(patroni, ['--version'], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    return `a working patroni: ${patroni} --version fails: ${error.message}`;
  }
  const version = text.match(/\d+/g)?.map(Number) ?? [];
  if (isAtLeast(version, OLDEST_PATRONI)) return undefined;
  return (
    `Patroni ${OLDEST_PATRONI.join('.')} or newer: ${patroni} is ${version.join('.')}. ` +
    'Set PATRONI to the path of a newer one'
  );
}

function isAtLeast(version, oldest) {
  const index = oldest.findIndex((number, position) => (version[position] ?? 0) !== number);
  return index === -1 || (version[index] ?? 0) > oldest[index];
}
