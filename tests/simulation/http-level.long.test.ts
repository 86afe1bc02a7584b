import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createEmptyDatabase } from '../support/postgres/test-database.ts';

const PROGRAM = fileURLToPath(new URL('../../simulation/dist/simulation/main.js', import.meta.url));

test('every team is correct with two servers that are killed repeatedly', {
  timeout: 400_000,
}, async () => {
  const database = ['--database-url', (await createEmptyDatabase()).href];
  const size = ['--seeds', '60', '--deliveries', '500', '--team-plan', 'best'];
  const options = ['--level', 'http', '--servers', '2', '--kill', '0.002', ...size, ...database];
  // A divergence exits with 1, and its output shows the divergence.
  const run = promisify(execFile)(process.execPath, [PROGRAM, '--json', ...options]);
  const { deliveries, kills, divergences } = JSON.parse((await run).stdout);
  expect(divergences).toBe(0);
  expect(deliveries).toBeGreaterThanOrEqual(500);
  expect(kills).toBeGreaterThan(0);
});
