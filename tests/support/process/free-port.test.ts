import { expect, test } from 'vitest';
import { firstOfSystem, freePort } from './free-port.ts';

test('returns each free port once, outside the range that the system takes ports from', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(firstOfSystem());
});
