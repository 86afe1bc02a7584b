import { expect, test } from 'vitest';
import { firstOfSystem, freePort } from './free-port.ts';

test('a free port is given once, and is none that the system may take meanwhile', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(firstOfSystem());
});
