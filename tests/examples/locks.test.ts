import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(ROOT, ...path), 'utf8'));

// `npm ci` installs what the lock says, also of a package that it takes from a folder.
test.each([
  ['examples', '../packages/instep'],
  ['examples/nextjs-saas-starter', 'node_modules/instep'],
])('%s has a lock with the dependencies of Instep', (folder, name) => {
  const { dependencies } = readJson('packages/instep/package.json');
  expect(readJson(folder, 'package-lock.json').packages[name].dependencies).toEqual(dependencies);
});
