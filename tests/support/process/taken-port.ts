import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

/** A loopback port that is already in use, for the tests of a file. */
export function useTakenPort(): () => string {
  const holder = createServer().listen(0, '127.0.0.1');
  beforeAll(async () => {
    if (!holder.listening) await once(holder, 'listening');
  });
  afterAll(() => holder.close());
  return () => String((holder.address() as AddressInfo).port);
}
