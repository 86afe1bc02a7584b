import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ISSUES } from 'instep/operate';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...['docs', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  ),
  // That of `instep` is a copy of this folder's, which is made when it is packed.
  ...readdirSync(join(ROOT, 'packages'))
    .filter((name) => name !== 'instep')
    .map((name) => join('packages', name, 'README.md')),
].filter((document) => existsSync(join(ROOT, document)));

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

/** The whole source, which contains everything that the program can write. */
const source = sourceOf('packages');

function sourceOf(folder: string): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\/?src\/.*\.tsx?$/.test(join(folder, name)))
    .map((name) => textOf(join(folder, name)))
    .join('\n');
}

const FOLDERS = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
  .map(({ name }) => name.replaceAll('.', '\\.'));
const FILE = new RegExp(`\`((?:${FOLDERS.join('|')}|src)/[\\w/.-]+)\``, 'g');

test.each(documents)('every file that %s names exists', (document) => {
  const named = [...textOf(document).matchAll(FILE)].map(([, path = '']) => path);
  const placeOf = (path: string) => join(path.startsWith('src/') ? dirname(document) : '.', path);
  expect(named.filter((path) => !existsSync(join(ROOT, placeOf(path))))).toEqual([]);
});

/** The commands that the program has, and the options of each. */
const commands = new Map(
  [...textOf('docs/commands.md').matchAll(/^## instep ([^\n]+)\n\n```\n(.*?)```/gms)].map(
    ([, name = '', help = '']) => [name, help.match(/--[a-z-]+/g) ?? []],
  ),
);

test.each(documents.filter((document) => document !== 'docs/commands.md'))(
  'every command and option that %s names exists',
  (document) => {
    const named = [
      ...textOf(document).matchAll(/(?:npx |`)instep ((?:[a-z]+(?:-[a-z]+)* ?)+)([^`\n|]*)/g),
    ];
    const wrong = named.filter(([, words = '', rest = '']) => {
      const [first = '', second = ''] = words.split(' ');
      const name = commands.has(first) ? first : `${first} ${second}`;
      const isGroup = [...commands.keys()].some((one) => one.startsWith(`${first} `));
      if (second === '' && isGroup) return false;
      const [own = ''] = rest.split(/[#;]|&&| -- /);
      const options = own.match(/(?<= |^)--[a-z-]+/g) ?? [];
      return (
        !options.every((one) => ['--help', ...(commands.get(name) ?? [])].includes(one)) ||
        !commands.has(name)
      );
    });
    expect(wrong.map(([text]) => text)).toEqual([]);
  },
);

test.each(documents)(
  'the versions that %s requires are those of the manifest and the doctor',
  (document) => {
    const { engines } = JSON.parse(textOf('packages/instep/package.json')) as {
      engines: { node: string };
    };
    const text = textOf(document);
    const node = [...text.matchAll(/Node\.js ([\d.]+) (?:or newer|on\b)/g)].map(
      ([, one]) => `>=${one}`,
    );
    expect(node.filter((one) => one !== engines.node)).toEqual([]);
    const [, oldest] = /OLDEST_VERSION = (\d+)0_000/.exec(source) ?? [];
    const postgres = [...text.matchAll(/PostgreSQL,? (?:version )?(\d+) or newer/g)];
    expect(postgres.map(([, one]) => one).filter((one) => one !== oldest)).toEqual([]);
  },
);

test('repair.md says what to do about every issue', () => {
  const [, table = ''] = /## Issues\n(.*?)\n## /s.exec(textOf('docs/repair.md')) ?? [];
  const named = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code),
  );
  expect(named.toSorted()).toEqual(Object.keys(ISSUES).toSorted());
});

test('monitor.md explains every alert', () => {
  const page = textOf('docs/monitor.md');
  const rules = [...textOf('docs/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const rows = [...page.matchAll(/^\| `(Instep\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(rules);
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

test('the source has every log line and error code that monitor.md explains', () => {
  const [, table = ''] = /## Error lines\n(.*?)(?=\n## |$)/s.exec(textOf('docs/monitor.md')) ?? [];
  const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((text) => !source.includes(text.replace(/ …$/, '')))).toEqual([]);
});

test.each(documents)('every table and view that %s names is in the source', (document) => {
  const named = [...textOf(document).matchAll(/\binstep\.([a-z_]+)\b(?![(A-Za-z])/g)].map(
    ([name]) => name,
  );
  const isFile = (name: string) => /\.(?:js|ts|service|env|yml)$/.test(name);
  expect(named.filter((name) => !isFile(name) && !source.includes(name))).toEqual([]);
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
