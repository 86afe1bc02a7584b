import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../src/runtime/logging.ts';
import { createAdmission } from '../../src/server/admission.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('who comes while there is room is let in, and a flood of others is a few lines', () => {
  const lines: { readonly leftOut?: number }[] = [];
  const logger = createLogger('info', { write: (line: string) => lines.push(JSON.parse(line)) });
  let hasRoom = true;
  const admit = createAdmission({ hasRoom: () => hasRoom, logger, now: Date.now });
  expect(admit()).toBe(true);
  hasRoom = false;
  for (let count = 0; count < 300; count += 1) {
    expect(admit()).toBe(false);
    vi.advanceTimersByTime(10);
  }
  vi.advanceTimersByTime(1_000);
  hasRoom = true;
  expect(admit()).toBe(true);
  expect(lines[0]).toMatchObject({ msg: 'request failed', err: { code: 'QUEUE_FULL' } });
  expect(lines.length).toBeLessThan(20);
  expect(lines.reduce((sum, { leftOut = 1 }) => sum + leftOut, 0)).toBe(300);
});
