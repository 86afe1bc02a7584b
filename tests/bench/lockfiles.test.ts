import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

type Lock = { packages: Record<string, { resolved?: string; hasInstallScript?: boolean }> };

const read = (path: string) =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8').trimEnd();

const FOLDERS = [
  '.',
  'bench',
  'examples',
  'examples/nextjs-saas-starter',
  'mutation',
  'publishing',
  'website',
];

test.each(FOLDERS)('the lockfile of %s names no registry', (folder) => {
  const { packages } = JSON.parse(read(`${folder}/package-lock.json`)) as Lock;
  const named = Object.entries(packages).filter(([, { resolved }]) => resolved?.includes('://'));
  expect(Object.keys(packages).length).toBeGreaterThan(10);
  expect(named).toEqual([]);
});

test('installing the peers runs none of their scripts', () => {
  const { packages } = JSON.parse(read('bench/package-lock.json')) as Lock;
  expect(Object.values(packages).filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  expect(read('bench/.npmrc').split('\n')).toContain('ignore-scripts=true');
});

test('the peers are installed only for the benchmark', () => {
  const dependencies = (path: string) =>
    JSON.parse(read(`${path}/package.json`)).dependencies as Record<string, string>;
  const peers = dependencies('bench');
  expect(peers['@supabase/stripe-sync-engine']).toBe('0.48.5');
  expect(peers['better-auth']).toBe('1.7.6');
  expect(peers['@better-auth/stripe']).toBe('1.7.6');
  expect(Object.keys(dependencies('packages/instep'))).not.toContain('better-auth');
  // The floor uses the same driver as the product.
  expect(peers.pg).toBe(dependencies('packages/instep').pg);
});
