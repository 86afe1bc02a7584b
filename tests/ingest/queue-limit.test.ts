import fc from 'fast-check';
import { QueueLimit } from 'instep/src/ingest/queue-limit.ts';
import { describe, expect, test } from 'vitest';

const MAX_QUEUED = 10_000;
const MIN_QUEUED = 64;

/** The limit after many batches of this size and duration. */
function taught(size: number, tookMs: number): number {
  const limit = new QueueLimit(MAX_QUEUED);
  for (let batch = 0; batch < 50; batch += 1) limit.learn(size, tookMs);
  return limit.count;
}

describe('the queue limit', () => {
  test('is the number of events that the last batches would store within 300 ms', () => {
    expect(taught(100, 100)).toBe(300);
    expect(taught(100, 200)).toBe(150);
    expect(taught(500, 50)).toBe(3_000);
  });

  test('ignores small batches, which mostly wait for the disk', () => {
    expect(taught(1, 1_000)).toBe(new QueueLimit(MAX_QUEUED).count);
  });

  test('stays within its bounds, whatever it learns', () => {
    const batches = fc.array(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: -50 })));
    fc.assert(
      fc.property(batches, (learnt) => {
        const limit = new QueueLimit(MAX_QUEUED);
        for (const [size, tookMs] of learnt) limit.learn(size, tookMs);
        expect(limit.count).toBeGreaterThanOrEqual(MIN_QUEUED);
        expect(limit.count).toBeLessThanOrEqual(MAX_QUEUED);
      }),
    );
  });
});
