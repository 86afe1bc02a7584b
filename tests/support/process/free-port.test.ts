import { expect, test } from 'vitest';
import { firstOfSystem, freePort } from './free-port.ts';

test("returns each free port once, outside the system's range of ephemeral ports", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(firstOfSystem());
});
