import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations, overhang, PHONE, useBrowser } from '../support/browser/browser.ts';

const browser = useBrowser();

const BAD_PAGE = `<!doctype html>
<html lang="en"><title>Bad</title>
<main>
  <h1 id="text">A page with problems</h1>
  <img src="https://example.com/pixel.png">
  <script>throw new Error('inline')</script>
  <script src="/script.js"></script>
  <pre>${'wide '.repeat(100)}</pre>
</main></html>`;

const server = createServer((request, response) => {
  response.setHeader('Content-Security-Policy', "default-src 'none'; script-src 'self'");
  if (request.url === '/') response.setHeader('Content-Type', 'text/html').end(BAD_PAGE);
  else response.writeHead(404).end();
});
let url: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.close();
});

test('problems of a page are reported', async () => {
  const page = await browser.newPage({ viewport: PHONE });
  await page.goto(url);
  expect(await axeViolations(page)).toEqual([expect.stringMatching(/^image-alt: <img/)]);
  expect(await overhang(page)).toBeGreaterThan(500);
  expect(browser.takeProblems()).toEqual(
    expect.arrayContaining([
      expect.stringContaining('requests from another host: https://example.com/pixel.png'),
      expect.stringContaining('violates the following Content Security Policy directive'),
      expect.stringContaining('404 http://127.0.0.1'),
    ]),
  );
});
