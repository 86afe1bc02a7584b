import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSubscriptionEvent } from 'instep/testing';
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

test('says what is missing and how to install it', () => {
  const { status, stderr } = run([]);
  expect(status).toBe(2);
  for (const part of ['etcd (package etcd-server)', 'haproxy', 'pgbouncer', 'patroni', 'apt-get'])
    expect(stderr).toContain(part);
});

test('refuses a Patroni that can discard acknowledged commits', () => {
  const refused = 'Patroni 3.0.3 or newer';
  expect(run([], { PATRONI: patroniOfVersion('3.0.2') }).stderr).toContain(refused);
  expect(run([], { PATRONI: patroniOfVersion('3.0.3') }).stderr).not.toContain(refused);
  expect(run([], { PATRONI: patroniOfVersion('4.0.4') }).stderr).not.toContain(refused);
});

test('explains its options', () => {
  const { status, stderr } = run(['--fast']);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('usage:') });
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

test('Instep and PgBouncer have the same password, and every placeholder says so', () => {
  const placeholder = /\bchange-me[\w-]*/g;
  expect(matches(textOf('userlist.txt'), placeholder)).toEqual(new Set(['change-me-app']));
  expect(matches(textOf('instep.env'), placeholder)).toContain('change-me-app');
  const files = [
    'node.env',
    'etcd.env',
    'patroni.yml',
    'haproxy.cfg',
    'pgbouncer.ini',
    'instep.env',
  ];
  const other = /<[A-Za-z_ -]+>|\$\{?[A-Z_]+|\bTODO\b|…/g;
  for (const name of files)
    expect({ name, other: matches(textOf(name), other) }).toEqual({ name, other: new Set() });
});

test('instep.env sets only variables that Instep knows', () => {
  const known = readFileSync(join(FOLDER, '../../docs/configuration.md'), 'utf8');
  const names = [...textOf('instep.env').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(names).toContain('SHUTDOWN_DELAY_MS');
  expect(names.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
});

type Query = (text: string) => Promise<readonly object[]>;

type Bench = {
  audit(
    load: { readonly events: readonly object[]; readonly acknowledged: ReadonlySet<string> },
    query: Query,
  ): Promise<{ readonly lost: readonly string[]; readonly wrong: readonly string[] }>;
  isMet(
    paths: readonly string[],
    row: { readonly fault: object; readonly outagesMs: readonly number[] },
  ): boolean;
  longestGapMs(answersAtMs: readonly number[], fromMs: number, untilMs: number): number;
  stalestMs(
    reads: readonly { readonly number: number; readonly startedAtMs: number }[],
    commits: readonly { readonly number: number; readonly atMs: number }[],
  ): number;
};

/** Plain JavaScript has no types. */
async function load<Name extends keyof Bench>(file: string, name: Name): Promise<Bench[Name]> {
  return ((await import(join(FOLDER, 'bench', file))) as Bench)[name];
}

test('an outage lasts from one answer to the next, also before the first and after the last', async () => {
  const longestGapMs = await load('outages.js', 'longestGapMs');
  expect(longestGapMs([90, 110, 150, 160], 100, 170)).toBe(40);
  expect(longestGapMs([160], 100, 170)).toBe(60);
  expect(longestGapMs([110], 100, 170)).toBe(60);
  expect(longestGapMs([], 100, 170)).toBe(70);
});

test('a goal is for every path, unless the fault names the paths', async () => {
  const isMet = await load('outages.js', 'isMet');
  const paths = ['direct', 'HAProxy'];
  const outagesMs = [1_001, 1_000];
  expect(isMet(paths, { fault: { goalMs: 1_001 }, outagesMs })).toBe(true);
  expect(isMet(paths, { fault: { goalMs: 1_000 }, outagesMs })).toBe(false);
  expect(isMet(paths, { fault: { goalMs: 1_000, paths: ['HAProxy'] }, outagesMs })).toBe(true);
});

test('a profile is as stale as the first newer number that was committed before the request', async () => {
  const stalestMs = await load('counter.js', 'stalestMs');
  const commits = [1, 2, 4].map((number) => ({ number, atMs: number * 100 }));
  expect(stalestMs([{ number: 2, startedAtMs: 390 }], commits)).toBe(0);
  expect(stalestMs([{ number: 1, startedAtMs: 390 }], commits)).toBe(190);
  expect(stalestMs([{ number: 2, startedAtMs: 450 }], commits)).toBe(50);
  expect(stalestMs([{ number: 4, startedAtMs: 900 }], commits)).toBe(0);
});

test('the audit finds each event that is not stored once, and each wrong team', async () => {
  const audit = await load('audit.js', 'audit');
  const customerId = 'cus_1';
  const events = ['active', 'canceled', 'past_due'].map((status, index) =>
    createSubscriptionEvent({ customerId, status, eventId: `evt_${index}`, createdSeconds: index }),
  );
  const acknowledged = new Set(['evt_0', 'evt_1', 'evt_2']);
  const auditWith = (counts: readonly number[], subscription_status: string) =>
    audit({ events, acknowledged }, async (text) =>
      text.includes('instep.events')
        ? counts.map((count, index) => ({ event_id: `evt_${index}`, count }))
        : [{ ...CLEARED, provider_customer_id: customerId, subscription_status }],
    );

  expect(await auditWith([1, 1, 1], 'canceled')).toMatchObject({ lost: [], wrong: [] });
  const found = await auditWith([1, 2], 'active');
  expect(found.lost).toEqual(['event evt_1 is stored 2 times', 'event evt_2 is stored 0 times']);
  expect(found.wrong).toHaveLength(1);
});

const CLEARED = { provider_subscription_id: null, provider_product_id: null };
