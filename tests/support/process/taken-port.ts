import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

/** A port of loopback that something else listens on, for the tests of a file. */
export function useTakenPort(): () => string {
  const holder = createServer().listen(0, '127.0.0.1');
  beforeAll(async () => {
    if (!holder.listening) await once(holder, 'listening');
  });
  afterAll(() => holder.close());
  return () => String((holder.address() as AddressInfo).port);
}
