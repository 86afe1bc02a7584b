import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PLANTED_BUGS, TESTS, textWith } from './bugs.ts';

test.each(PLANTED_BUGS)('a planted bug matches the code: $name', (bug) => {
  const text = readFileSync(new URL(`../../${bug.file}`, import.meta.url), 'utf8');
  expect(textWith(bug, text)).not.toBe(text);
});

test('every planted bug has a unique name', () => {
  expect(new Set(PLANTED_BUGS.map(({ name }) => name)).size).toBe(PLANTED_BUGS.length);
});

// One that is gone would fail, as if it had found each bug.
test.each([...TESTS.unit, ...TESTS.engine])('there is the detector %s', (path) => {
  expect(existsSync(new URL(`../../${path}`, import.meta.url))).toBe(true);
});
