import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

test.each(documents)('%s names only files that are there', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) =>
    join(ROOT, dirname(document), path),
  );
  const named = [...text.matchAll(/`((?:tests|src|scripts|mutation|bench)\/[\w/.-]+)`/g)].map(
    ([, path = '']) => join(ROOT, path),
  );
  expect([...links, ...named].filter((path) => !existsSync(path))).toEqual([]);
});

test.each(documents)('%s names only scripts that there are', (document) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const text = readFileSync(join(ROOT, document), 'utf8');
  const named = [...text.matchAll(/npm run (?:--silent )?([\w:]*\w)/g)].map(
    ([, name = '']) => name,
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});
