import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { repetitions } from '../support/test-length.ts';

const PROGRAM = fileURLToPath(new URL('../../simulation/dist/simulation/main.js', import.meta.url));

async function simulate(...args: readonly string[]): Promise<Record<string, unknown>> {
  const run = promisify(execFile)(process.execPath, [PROGRAM, '--json', ...args]);
  const { stdout, stderr } = await run;
  expect(stderr).toBe('');
  const { seconds, 'deliveries/s': _, ...figures } = JSON.parse(stdout);
  expect(seconds).toEqual(expect.any(Number));
  return figures;
}

test('gives the same result on any number of threads', async () => {
  const options = [
    '--seed',
    '7',
    '--seeds',
    '11',
    '--deliveries',
    String(repetitions(1_000, 5_000)),
  ];
  const [one, three, many] = await Promise.all(
    ['1', '3', '12'].map((threads) => simulate(...options, '--threads', threads)),
  );
  expect(one).toMatchObject({ seeds: 11, divergences: 0 });
  expect(three).toEqual(one);
  expect(many).toEqual(one);
});

test('--enumerate tries every order of every lifecycle', async () => {
  const options = ['--enumerate', '1', '--transitions', 'few', '--extra', '1'];
  expect(await simulate(...options)).toEqual({
    events: 1,
    duplicates: 1,
    lifecycles: 2,
    orders: 4,
    deliveries: 6,
  });
});
