// Collects everything that the site is built from in `pages/`, because VitePress finds Vue only above its pages.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { httpPage } from './http-page.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = fileURLToPath(new URL('pages/', import.meta.url));
const COLLECTED = [
  ...[
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'CODE_OF_CONDUCT.md',
    'SECURITY.md',
    'LICENSE',
  ],
  ...['docs', '.env.example', 'openapi.yaml'],
];

rmSync(PAGES, { recursive: true, force: true });
for (const path of COLLECTED) cpSync(`${ROOT}${path}`, `${PAGES}${path}`, { recursive: true });
cpSync(`${ROOT}website/start.md`, `${PAGES}index.md`);
// Served as it is.
cpSync(`${ROOT}packages/console/src/assets/icon.svg`, `${PAGES}public/icon.svg`);
writeFileSync(`${PAGES}http.md`, httpPage(readFileSync(`${ROOT}openapi.yaml`, 'utf8')));
for (const [folder, heading] of [
  ['docs/decisions', 'Decisions'],
  ['docs/deploy', 'Deploy'],
]) {
  writeFileSync(`${PAGES}${folder}/index.md`, listOf(heading, folder));
}

/** A page that leads to all pages of a folder. */
function listOf(heading, folder) {
  const names = readdirSync(`${ROOT}${folder}`).filter((name) => name.endsWith('.md'));
  const items = names.sort().map((name) => {
    const [, title] = /^# (.+)$/m.exec(readFileSync(`${ROOT}${folder}/${name}`, 'utf8'));
    return `- [${title}](${name})`;
  });
  return [`# ${heading}`, '', ...items, ''].join('\n');
}
