import { setTimeout as sleep } from 'node:timers/promises';
import { startBalancedServers } from '../balanced-servers.ts';
import type { Scenario } from '../scenario.ts';

const PAUSE_MS = 100;

export const rollingRestarts: Scenario = {
  fault: 'two servers behind a load balancer that checks /readyz are restarted in turn (SIGTERM)',
  promise: 'no request is refused, and each server exits with 0',
  times: { short: 4, long: 1_000 },
  async run({ times, onProgress }) {
    const servers = await startBalancedServers();
    for (let done = 1; done <= times; done += 1) {
      await servers.start();
      await servers.stopOldest();
      await sleep(PAUSE_MS);
      onProgress?.(done);
    }
    return { restarts: times, ...(await servers.finish()) };
  },
};
