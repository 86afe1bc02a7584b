import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PLANTED_BUGS, textWith } from './bugs.ts';

test.each(PLANTED_BUGS)('a planted bug matches the code: $name', (bug) => {
  const text = readFileSync(new URL(`../../${bug.file}`, import.meta.url), 'utf8');
  expect(textWith(bug, text)).not.toBe(text);
});

test('every planted bug has a unique name', () => {
  expect(new Set(PLANTED_BUGS.map(({ name }) => name)).size).toBe(PLANTED_BUGS.length);
});
