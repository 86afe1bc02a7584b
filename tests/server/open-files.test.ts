import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { connectionsWithin, readOpenFilesLimit } from '../../src/server/open-files.ts';

test.skipIf(process.platform !== 'linux')("the limit is the process's own", () => {
  // Node has raised it as far as it may.
  const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  expect(String(readOpenFilesLimit())).toBe(limit === 'unlimited' ? 'Infinity' : limit);
});

test('connections leave files for the database, and are never none', () => {
  expect(connectionsWithin(1_024)).toBe(984);
  expect(connectionsWithin(64)).toBe(24);
  expect(connectionsWithin(1_024, 50)).toBe(934);
  expect(connectionsWithin(16)).toBe(8);
  expect(connectionsWithin(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
});
