import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from 'instep/src/runtime/packages.ts';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

test.each(readdirSync(join(ROOT, 'packages')))('packages/%s has the version', (name) => {
  const manifest = readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ version: VERSION });
});
