import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder } from '../support/process/instep-process.ts';

const FOLDER = join(import.meta.dirname, '../../examples/cluster');
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const matches = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([match]) => match));

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

test('all files name the same machines and ports', () => {
  const nodes = new Set(['10.77.0.11', '10.77.0.12', '10.77.0.13']);
  const instances = new Set(['10.77.0.21', '10.77.0.22', '10.77.0.23']);
  const NODE = /\b10\.77\.0\.1\d\b/g;
  for (const name of ['etcd.env', 'patroni.yml', 'haproxy.cfg'])
    expect({ name, nodes: matches(textOf(name), NODE) }).toEqual({ name, nodes });
  expect(matches(textOf('haproxy.cfg'), /\b10\.77\.0\.2\d\b/g)).toEqual(instances);
  expect(textOf('haproxy.cfg')).toContain('bind 127.0.0.1:5000');
  expect(textOf('pgbouncer.ini')).toContain('host=127.0.0.1 port=5000');
  expect(textOf('pgbouncer.ini')).toContain('listen_port = 6432');
  expect(matches(textOf('instep.env'), /127\.0\.0\.1:\d+/g)).toEqual(
    new Set(['127.0.0.1:5000', '127.0.0.1:6432']),
  );
});

test('instep.env sets only variables that Instep knows', () => {
  const known = readFileSync(join(FOLDER, '../../docs/configuration.md'), 'utf8');
  const names = [...textOf('instep.env').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(names).toContain('SHUTDOWN_DELAY_MS');
  expect(names.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
});
