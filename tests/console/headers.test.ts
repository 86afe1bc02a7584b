import { expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { exchange } from '../support/network/raw-connection.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const service = await openConsole((await createDatabase()).database, {
  extend(app) {
    app.get('/fails', () => {
      throw new TypeError('a defect');
    });
  },
});

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const FOREVER = 'public, max-age=31536000, immutable';
const PATHS = ['/', '/teams', '/nothing', '/fails', '/assets/style.css', '/assets/nothing'];

test.each(PATHS)('%s has every security header', async (path) => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const { headers } = await fetch(service.url + path, { method });
    expect(headers.get('content-security-policy')).toBe(POLICY);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('server')).toBeNull();
    const isFile = path === '/assets/style.css' && (method === 'GET' || method === 'HEAD');
    expect(headers.get('cache-control')).toBe(isFile ? FOREVER : 'no-store');
  }
});

test('pages contain no inline script or style, and no address of another host', async () => {
  for (const path of PATHS.slice(0, 4)) {
    const html = await (await fetch(service.url + path)).text();
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! src="\/assets\/)|javascript:/i);
    expect(html).not.toMatch(/(?:src|href|action)="(?!\/(?!\/)|#)/);
  }
});

test('assets contain no address of another host', async () => {
  const html = await (await fetch(service.url)).text();
  for (const [, path] of html.matchAll(/(?:href|src)="(\/assets[^"]+)"/g)) {
    const text = await (await fetch(service.url + path)).text();
    const named = text.replace('http://www.w3.org/2000/svg', '');
    expect(named).not.toMatch(
      /@import|url\((?!"#)|sourceMappingURL|["'](?:https?:)?\/\/[\w-]+\.\w/,
    );
  }
});

test.each([
  '/assets/../options.ts',
  '/assets/..%2foptions.ts',
  '/assets/%2e%2e/options.ts',
  '/assets/__proto__',
  '/assets/constructor',
  '/assets/style.css/',
  '/assets/style.css%00',
  '//evil.example/',
  '/%',
  '/%c0%ae%c0%ae/',
  '/<script>alert(1)</script>',
  `/${'a'.repeat(8_000)}`,
])('%j is not found and not echoed', async (path) => {
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  const received = await exchange(service.url, request);
  expect(received).toMatch(/^HTTP\/1\.1 404 /);
  expect(received).not.toContain('alert(1)');
  expect(received).not.toContain('aaaa');
});
