import { expect, test } from 'vitest';
import { createAdmission } from '../../src/http/admission.ts';
import { createLogger } from '../../src/logging.ts';

test('a flood is one line a second, which says how many it left out', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger('info', { write: (line: string) => lines.push(JSON.parse(line)) });
  let nowMs = 0;
  let hasRoom = false;
  const admit = createAdmission({ hasRoom: () => hasRoom, logger, now: () => nowMs });
  for (; nowMs < 3_000; nowMs += 10) expect(admit()).toBe(false);
  hasRoom = true;
  expect(admit()).toBe(true);
  expect(lines).toMatchObject([
    { msg: 'request failed', err: { code: 'QUEUE_FULL' } },
    { msg: 'request failed', err: { code: 'QUEUE_FULL' }, leftOut: 99 },
    { msg: 'request failed', err: { code: 'QUEUE_FULL' }, leftOut: 99 },
  ]);
  expect(lines[0]).not.toHaveProperty('leftOut');
});
