import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const RANGE_FILE = '/proc/sys/net/ipv4/ip_local_port_range';

/** The start of the range of ephemeral ports on systems other than Linux. */
const USUAL_FIRST = 49_152;
const LOWEST = 10_240;

/** More ports than there are test processes. Each process has its own range. */
const WORKERS = 64;
const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
const MAX_TRIES = 1_000;
const tried = new Set<number>();

/**
 * A loopback port that stays free until a test uses it: it is outside the range from which the system takes
 * ports for connections and for listeners on port 0.
 */
export async function freePort(): Promise<number> {
  const turns = Math.floor((firstOfSystem() - LOWEST) / WORKERS);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const port = LOWEST + worker + WORKERS * randomInt(turns);
    const isNew = !tried.has(port);
    tried.add(port);
    if (isNew && (await isFree(port))) return port;
  }
  throw new RangeError('no port is free');
}

/** The first port of the system's range. If the range covers nearly all ports, any port will do. */
function firstOfSystem(): number {
  try {
    const first = Number.parseInt(readFileSync(RANGE_FILE, 'latin1'), 10);
    return first < 2 * LOWEST ? USUAL_FIRST : first;
  } catch {
    return USUAL_FIRST;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}
