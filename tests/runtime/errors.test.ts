import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTEP_ERROR_CODES } from 'instep/src/runtime/errors.ts';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

test('docs/errors.md lists exactly the existing codes, with cause and remedy', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| \S.+ \| \S.+ \|$/gm)].map(([, code]) => code);
  expect(rows.sort()).toEqual([...INSTEP_ERROR_CODES].sort());
});

test('every code belongs to an error class', () => {
  const packages = join(ROOT, 'packages');
  const sources = readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^/]+\/src\/.*\.tsx?$/.test(path))
    .filter((path) => path !== 'instep/src/runtime/errors.ts')
    .map((path) => readFileSync(join(packages, path), 'utf8'));
  const unused = INSTEP_ERROR_CODES.filter(
    (code) => !sources.some((text) => text.includes(`'${code}'`)),
  );
  expect(unused).toEqual([]);
});
