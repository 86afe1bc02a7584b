import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations, DESKTOP, overhang, PHONE, useBrowser } from '../support/browser/browser.ts';

const SITE = resolve(import.meta.dirname, '../../website/dist');

const PAGES = readdirSync(SITE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.html') && path !== '404.html')
  .map((path) => `/${path.replace(/(index)?\.html$/, '')}`)
  .sort();

/** Pages of each kind, for what takes long on every page. */
const SAMPLE = [
  ...['/', '/README', '/docs/ARCHITECTURE', '/docs/configuration', '/docs/monitor', '/http'],
  ...['/docs/commands', '/api/testing'],
];

const DRAW_TIMEOUT_MS = 15_000;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

let server: Server;
let url: string;

// Files only, as a static host serves them.
beforeAll(async () => {
  server = createServer(({ url: path = '/' }, response) => {
    const { pathname } = new URL(path, 'http://127.0.0.1');
    const file = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const body = read(file) ?? read(`${file}.html`);
    if (body === null) return response.writeHead(404).end();
    const type = TYPES[extname(file) || '.html'] ?? 'application/octet-stream';
    return response.writeHead(200, { 'content-type': type }).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const browser = useBrowser();

function read(path: string): Buffer | null {
  const file = join(SITE, decodeURIComponent(path));
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}

async function linksOf(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(
    '[...document.querySelectorAll("a[href]")].map((link) => link.href)',
  );
}

test('every link leads to a page and a heading, and every page is linked', async () => {
  const page = await browser.newPage();
  const headings = new Map<string, ReadonlySet<string>>();
  const links: { from: string; to: URL }[] = [];
  for (const path of PAGES) {
    await page.goto(`${url}${path}`);
    const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id));
    headings.set(path, new Set(ids));
    for (const link of await linksOf(page)) {
      const to = new URL(link);
      if (to.origin === url) links.push({ from: path, to });
    }
  }
  expect(links.length).toBeGreaterThan(PAGES.length);
  const dead = links.filter(({ to: { pathname, hash } }) => {
    const path = pathname.replace(/(index)?\.html$/, '');
    const ids = headings.get(path);
    if (ids === undefined) return read(path) === null;
    return hash !== '' && !ids.has(decodeURIComponent(hash.slice(1)));
  });
  expect(dead.map(({ from, to }) => `${from} → ${to.pathname}${to.hash}`)).toEqual([]);
  const linked = new Set(links.map(({ to }) => to.pathname));
  expect(PAGES.filter((path) => !linked.has(path))).toEqual([]);
});

test.each([
  ['desktop', 'light', DESKTOP],
  ['desktop', 'dark', DESKTOP],
  ['phone', 'light', PHONE],
] as const)(
  'axe finds nothing, and nothing is wider than the window: %s, %s',
  async (_device, colorScheme, viewport) => {
    const page = await browser.newPage({ viewport, colorScheme });
    const found: Record<string, readonly string[]> = {};
    for (const path of SAMPLE) {
      await page.goto(`${url}${path}`);
      await page.waitForFunction('document.querySelector("pre.diagram") === null');
      const violations = await axeViolations(page);
      if ((await overhang(page)) > 0) violations.push('wider than the window');
      if (violations.length > 0) found[path] = violations;
    }
    expect(found).toEqual({});
  },
);

test('diagrams are drawn, and none of their texts is cut off', async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/docs/ARCHITECTURE`);
  await expect
    .poll(() => page.locator('.diagram svg').count(), { timeout: DRAW_TIMEOUT_MS })
    .toBeGreaterThan(1);
  const cutOff = await page.evaluate<string[]>(`
    [...document.querySelectorAll('.diagram foreignObject')]
      .filter((label) => label.firstElementChild.getBoundingClientRect().height >
        label.getBoundingClientRect().height + 1)
      .map((label) => label.textContent.trim())`);
  expect(cutOff).toEqual([]);
});
