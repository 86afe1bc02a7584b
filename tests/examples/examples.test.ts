import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';

const FOLDER = join(import.meta.dirname, '../../examples/cluster');
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

/** Runs the bench where no program is installed, so that it stops before it builds a network. */
function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { status, stderr } = spawnSync(process.execPath, [join(FOLDER, 'run'), ...args], {
    encoding: 'utf8',
    env: { PATH: createFolder(), ...environment },
  });
  return { status, stderr };
}

function patroniOfVersion(version: string): string {
  const path = join(createFolder(), 'patroni');
  writeFileSync(path, `#!/bin/sh\necho patroni ${version}\n`);
  chmodSync(path, 0o755);
  return path;
}

test('refuses a Patroni that can discard acknowledged commits', () => {
  const refused = 'Patroni 3.0.3 or newer';
  expect(run([], { PATRONI: patroniOfVersion('3.0.2') }).stderr).toContain(refused);
  expect(run([], { PATRONI: patroniOfVersion('3.0.3') }).stderr).not.toContain(refused);
  expect(run([], { PATRONI: patroniOfVersion('4.0.4') }).stderr).not.toContain(refused);
});

test('instep.env sets only variables that Instep knows', () => {
  const known = readFileSync(join(FOLDER, '../../docs/configuration.md'), 'utf8');
  const names = [...textOf('instep.env').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(names).toContain('SHUTDOWN_DELAY_MS');
  expect(names.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
});

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(ROOT, ...path), 'utf8'));

// `npm ci` installs what the lock says, also of a package that it takes from a folder.
test.each([
  ['examples', '../packages/instep'],
  ['examples/nextjs-saas-starter', 'node_modules/instep'],
])('%s has a lock with the dependencies of Instep', (folder, name) => {
  const { dependencies } = readJson('packages/instep/package.json');
  expect(readJson(folder, 'package-lock.json').packages[name].dependencies).toEqual(dependencies);
});
