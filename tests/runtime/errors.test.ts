import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

const PACKAGES = join(ROOT, 'packages');

/** A member with a code; the codes of a class with several; a code that is given when it is thrown. */
const CODES = /(?:code = |CodedError<|type \w*Code =|new CommandFailed\()[^;({]*/g;
const CODE = /'([A-Z]+(?:_[A-Z]+)*)'/g;

function codesInSource(): string[] {
  const sources = readdirSync(PACKAGES, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^[^/]+\/src\/.*\.tsx?$/.test(path),
  );
  const codes = sources.flatMap((path) =>
    [...readFileSync(join(PACKAGES, path), 'utf8').matchAll(CODES)].flatMap(([text]) =>
      [...text.matchAll(CODE)].map(([, code = '']) => code),
    ),
  );
  return [...new Set(codes)];
}

test('docs/errors.md lists exactly the existing codes, with cause and remedy', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| \S.+ \| \S.+ \|$/gm)].map(([, code]) => code);
  expect(rows.sort()).toEqual(codesInSource().sort());
});
