import { interruptionsOf } from 'instep/src/operate/statistics.ts';
import { expect, test } from 'vitest';

const MINUTE_MS = 60_000;
const run = (version: string, startedAt: number, seenAt: number) => ({
  version,
  startedAtMs: startedAt * MINUTE_MS,
  seenAtMs: seenAt * MINUTE_MS,
});
const shown = (runs: Parameters<typeof interruptionsOf>[0], nowMinutes: number) =>
  interruptionsOf(runs, nowMinutes * MINUTE_MS).map(({ kind, atMs, untilMs, version }) => [
    kind,
    atMs / MINUTE_MS,
    untilMs / MINUTE_MS,
    version,
  ]);

test('without runs there are no interruptions', () => {
  expect(shown([], 10)).toEqual([]);
});

test('a new version is a deploy, and the same version again a start', () => {
  expect(shown([run('1', 0, 10), run('1', 10.2, 20), run('2', 20.2, 30)], 30)).toEqual([
    ['deploy', 0, 0, '1'],
    ['start', 10.2, 10.2, '1'],
    ['deploy', 20.2, 20.2, '2'],
  ]);
});

test('an outage ends when any instance is seen again, which is not a start', () => {
  const runs = [run('1', 0, 10), run('1', 0.1, 12), run('1', 15, 20)];
  expect(shown(runs, 20)).toEqual([
    ['deploy', 0, 0, '1'],
    ['outage', 12, 15, null],
  ]);
});

test('an instance that continues running leaves no gap', () => {
  expect(shown([run('1', 0, 30), run('1', 5, 6), run('1', 20, 30)], 30)).toEqual([
    ['deploy', 0, 0, '1'],
    ['start', 5, 5, '1'],
    ['start', 20, 20, '1'],
  ]);
});

test('instances that start within a minute are one interruption', () => {
  expect(shown([run('1', 0, 9), run('2', 9.1, 20), run('2', 9.2, 20)], 20)).toEqual([
    ['deploy', 0, 0, '1'],
    ['deploy', 9.1, 9.1, '2'],
  ]);
});

test('an outage that still lasts ends now', () => {
  expect(shown([run('1', 0, 10)], 14)).toEqual([
    ['deploy', 0, 0, '1'],
    ['outage', 10, 14, null],
  ]);
});
