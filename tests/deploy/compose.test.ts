import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

type Service = {
  readonly build?: string;
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly read_only?: boolean;
  readonly depends_on?: Readonly<Record<string, unknown>>;
};
type Compose = {
  readonly services: Readonly<Record<'instep' | 'postgres' | 'proxy', Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};
const { services, volumes } = parse(textOf('compose.yaml')) as Compose;

test('only the proxy is reachable from other machines', () => {
  expect(services.proxy.ports).toEqual(['80:80', '443:443', '443:443/udp']);
  for (const port of services.instep.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  expect(services.postgres.ports).toBeUndefined();
});

test('Instep sets only variables that it knows', () => {
  const known = textOf('docs/configuration.md');
  const names = Object.keys(services.instep.environment ?? {});
  expect(names).toContain('DATABASE_URL');
  expect(names.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
});

test('every volume is declared, and every file that is mounted exists', () => {
  const mounted = Object.values(services).flatMap((service) => service.volumes ?? []);
  const sources = mounted.map((volume) => volume.split(':')[0] ?? '');
  expect(sources.length).toBeGreaterThan(3);
  const missing = sources.filter((source) =>
    source.startsWith('.') ? !existsSync(join(ROOT, source)) : !(source in volumes),
  );
  expect(missing).toEqual([]);
});

test('the proxy sends the two paths of the contract to Instep, and every other path to the app', () => {
  const caddyfile = textOf('docs/deploy/Caddyfile');
  expect(caddyfile).toContain('@instep path /api/user /api/stripe/webhook\n');
  const port = services.instep.environment?.PORT;
  expect(caddyfile).toContain(`dynamic a instep ${port} {`);
  expect(caddyfile).toContain('reverse_proxy {$APP}\n');
  expect(Object.keys(services.proxy.environment ?? {})).toEqual(['DOMAIN', 'APP']);
});
