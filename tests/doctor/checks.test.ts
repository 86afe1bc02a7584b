import { checkDurability, checkEncoding, checkVersion } from 'instep/src/doctor/database-server.ts';
import { expect, test } from 'vitest';

test.each([
  [130_022, 'failure'],
  [140_000, 'ok'],
  [180_004, 'ok'],
])('PostgreSQL %d: %s', (versionNumber, state) =>
  expect(checkVersion({ versionNumber, version: 'x' })).toMatchObject({ state }),
);

test.each([
  ['off', 'warning'],
  ['on', 'ok'],
])('fsync %s: %s', (fsync, state) => expect(checkDurability({ fsync })).toMatchObject({ state }));

test.each([
  ['UTF8', []],
  ['LATIN1', [{ state: 'warning' }]],
  ['SQL_ASCII', [{ state: 'warning' }]],
])('the encoding %s: %j', (encoding, checks) =>
  expect(checkEncoding({ encoding })).toMatchObject(checks),
);
