import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PACKAGE_VERSION } from '../../../src/postgres/embedded/postgres-package.ts';

test('the error names the package version that a clone uses', () => {
  const path = new URL('../../../embedded-postgres/package.json', import.meta.url);
  const { optionalDependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  const versions = Object.values(optionalDependencies);
  expect(versions.length).toBeGreaterThan(0);
  for (const version of versions) expect(version).toBe(PACKAGE_VERSION);
});
