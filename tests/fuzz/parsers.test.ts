import { afterAll, expect, test } from 'vitest';
import { repetitions } from '../support/test-length.ts';
import { Coverage } from './coverage.ts';
import { fuzz } from './fuzz.ts';

const coverage = new Coverage();
afterAll(() => coverage.stop());
const { TARGETS } = await import('./targets.ts');

const targets = Object.entries(TARGETS);

/** Variables of `npm run test:fuzz`. For `npm test`, a few thousand inputs per target are enough. */
const { FUZZ_SECONDS, FUZZ_SEED = '1' } = process.env;
const INPUTS = repetitions(500, 4_000);

function limit(): (inputs: number) => boolean {
  if (FUZZ_SECONDS === undefined) return (inputs) => inputs >= INPUTS;
  const untilMs = Date.now() + (Number(FUZZ_SECONDS) * 1_000) / targets.length;
  return () => Date.now() >= untilMs;
}

const timeout = Number(FUZZ_SECONDS ?? 0) * 1_000 + 120_000;

test.each(targets)('%s: its properties hold for every input', { timeout }, async (name, target) => {
  const figures = await fuzz(target, coverage, { seed: Number(FUZZ_SEED), isOver: limit() });
  expect(figures.taken).toBeGreaterThan(0);
  print({ target: name, ...figures });
});

test('nearly all blocks of the parsers were reached', () => {
  const figures = coverage.figures(/\/src\//);
  expect(figures.reachedBlocks / figures.blocks).toBeGreaterThan(0.8);
  print(figures);
});

function print(figures: object): void {
  if (FUZZ_SECONDS !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
}
