import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { exchange, statusesIn } from '../support/network/raw-connection.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { OPERATIONS_TOKEN, SHARED_TOKEN } from '../support/secrets/test-secrets.ts';

const { database } = await createDatabase();
const local = await openConsole(database);
const guarded = await openConsole(database, { tokens: [SHARED_TOKEN] });

async function statusFor(url: string, head: string): Promise<number | undefined> {
  const received = await exchange(url, `GET / HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  return statusesIn(received)[0];
}

describe('without a token', () => {
  test.each(['localhost', 'LOCALHOST:3001', '127.0.0.1:3001', '127.9.9.9', '[::1]:3001'])(
    'the host %s is accepted',
    async (host) => {
      expect(await statusFor(local.url, `Host: ${host}\r\n`)).toBe(200);
    },
  );

  test.each([
    'evil.example',
    'evil.example:3001',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil-localhost',
    '10.0.0.1',
    '[::2]',
  ])('the host %s is refused', async (host) => {
    expect(await statusFor(local.url, `Host: ${host}\r\n`)).toBe(403);
  });

  test.each([
    ['two Host headers', 'Host: localhost\r\nHost: evil.example\r\n', 400],
    ['two hosts', 'Host: localhost,evil.example\r\n', 400],
    ['no Host header', '', 400],
  ])('a request with %s is refused', async (_, head, status) => {
    expect(await statusFor(local.url, head)).toBe(status);
  });

  test.each(['X-Forwarded-For: 203.0.113.7', 'Forwarded: for=203.0.113.7', 'Via: 1.1 proxy'])(
    'what a proxy passes on is refused: %s',
    async (header) => {
      expect(await statusFor(local.url, `Host: localhost\r\n${header}\r\n`)).toBe(403);
    },
  );

  test('the refusal says what to do', async () => {
    const head = 'GET /teams HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    expect(await exchange(local.url, head)).toContain('set OPS_TOKEN');
  });
});

test('with a token every host is accepted', async () => {
  const head = `Host: ops.example\r\nAuthorization: Bearer ${OPERATIONS_TOKEN}\r\n`;
  expect(await statusFor(guarded.url, head)).toBe(200);
});
