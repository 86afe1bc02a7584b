import { execFileSync } from 'node:child_process';
import { connectionsWithin, readOpenFilesLimit } from 'instep/src/server/listener.ts';
import { expect, test } from 'vitest';

test.skipIf(process.platform !== 'linux')('reads the limit of the process', () => {
  // Node raises it to the hard limit.
  const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  expect(String(readOpenFilesLimit())).toBe(limit === 'unlimited' ? 'Infinity' : limit);
});

test('leaves files for the database and for modules, and at least 8 for connections', () => {
  expect(connectionsWithin(1_024)).toBe(904);
  expect(connectionsWithin(256)).toBe(136);
  expect(connectionsWithin(1_024, 50)).toBe(854);
  expect(connectionsWithin(16)).toBe(8);
  expect(connectionsWithin(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
});
