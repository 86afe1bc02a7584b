import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTEP_ERROR_CODES } from 'instep/src/runtime/errors.ts';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

test('docs/errors.md lists exactly the existing codes, with cause and remedy', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| \S.+ \| \S.+ \|$/gm)].map(([, code]) => code);
  expect(rows.sort()).toEqual([...INSTEP_ERROR_CODES].sort());
});
