import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLockHolder } from './lock-file.ts';
import { identifyProcess } from './process-identity.ts';

const DEADLINE_MS = 20_000;
const PAUSE_MS = 10;

/**
 * Asks the cluster's server to stop: open transactions are rolled back, everything is written, and
 * it ends. A server whose process cannot be told for sure (in another container, say) is left
 * alone.
 * @returns how it went: `stopping` when it has not ended after 20 s, which it does by itself
 */
export async function stopServer(cluster: string): Promise<'stopped' | 'stopping' | 'not found'> {
  const holder = await readLockHolder(join(cluster, 'postmaster.pid'));
  if (holder === undefined) return 'stopped';
  if (holder.identity !== 'server') return 'not found';
  // PostgreSQL calls this a fast shutdown.
  process.kill(holder.pid, 'SIGINT');
  const giveUpAt = performance.now() + DEADLINE_MS;
  while (performance.now() < giveUpAt) {
    await sleep(PAUSE_MS);
    // Its lock file goes a little before it does.
    if ((await identifyProcess(holder.pid, holder.cluster)) !== 'server') return 'stopped';
  }
  return 'stopping';
}
