import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { INSTEP_ERROR_CODES } from '../../src/runtime/errors.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('docs/errors.md lists exactly the existing codes, with cause and remedy', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| \S.+ \| \S.+ \|$/gm)].map(([, code]) => code);
  expect(rows.sort()).toEqual([...INSTEP_ERROR_CODES].sort());
});

test('every code belongs to an error class', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'));
  const used = sources.flatMap((text) =>
    [...text.matchAll(/readonly code = '([A-Z_]+)'/g)].map(([, code]) => code),
  );
  expect([...new Set(used)].sort()).toEqual([...INSTEP_ERROR_CODES].sort());
});
