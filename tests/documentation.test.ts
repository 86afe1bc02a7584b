import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...['docs', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  ),
];

const textOf = (document: string) => readFileSync(join(ROOT, document), 'utf8');

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(document: string): string[] {
  return [...textOf(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(documents)('every link of %s leads to a file and a heading', (document) => {
  const links = [...textOf(document).matchAll(/\]\(([^)\s:]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test.each(documents)('every file that %s names exists', (document) => {
  const named = [
    ...textOf(document).matchAll(
      /`((?:packages|tests|simulation|scripts|mutation|bench|docs|examples|\.ci)\/[\w/.-]+)`/g,
    ),
  ].map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test.each(documents)('every npm script that %s names exists', (document) => {
  const folder = document.startsWith('examples/') ? dirname(document) : '.';
  const manifest = textOf(join(folder, 'package.json'));
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
  const named = [...textOf(document).matchAll(/npm run (?:--silent )?([\w:]*\w)/g)].map(
    ([, name = '']) => name,
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

/** The whole source, which contains everything that the program can write. */
const source = sourceOf('packages');

function sourceOf(folder: string): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\/?src\/.*\.tsx?$/.test(join(folder, name)))
    .map((name) => textOf(join(folder, name)))
    .join('\n');
}

test('the source has every log line and error code that monitor.md explains', () => {
  const [, table = ''] = /## Error lines\n(.*?)(?=\n## |$)/s.exec(textOf('docs/monitor.md')) ?? [];
  const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((text) => !source.includes(text.replace(/ …$/, '')))).toEqual([]);
});

test('.env.example and configuration.md list exactly the variables of the configuration', () => {
  const variablesOf = (text: string, pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();
  const inExample = variablesOf(textOf('.env.example'), /^(?:# )?([A-Z][A-Z_]+)=/gm);
  const rows = [...textOf('docs/configuration.md').matchAll(/^\| (`[A-Z].*?) \|/gm)].map(
    ([, cell]) => cell,
  );
  const inTable = variablesOf(rows.join('\n'), /`([A-Z][A-Z_]+)`/g);
  const read = variablesOf(
    sourceOf('packages/instep/src/config'),
    /\b([A-Z][A-Z]+(?:_[A-Z]+)*): /g,
  );
  expect(inExample).toEqual(inTable);
  expect(inTable.filter((name) => !source.includes(name))).toEqual([]);
  expect(read.filter((name) => !inTable.includes(name))).toEqual([]);
});
