import { abortAfter, pause } from 'instep-engine/runtime';
import { expect, onTestFinished, test } from 'vitest';

const LONG_MS = 600_000;

test.each([
  ['pauses', (signal: AbortSignal) => pause(LONG_MS, { signal })],
  ['calls', (signal: AbortSignal) => abortAfter(LONG_MS, signal, (own) => once(own))],
])('any number of %s end with one signal, without a warning of a leak', async (_, wait) => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on('warning', onWarning);
  onTestFinished(() => {
    process.off('warning', onWarning);
  });
  const stopping = new AbortController();
  const waiting = Array.from({ length: 20 }, () => wait(stopping.signal));
  stopping.abort();
  await Promise.allSettled(waiting);
  // Node emits a warning in the next turn of the event loop.
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});

function once(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}
