import type { Scenario } from './scenario.ts';
import { everyAwait } from './scenarios/every-await.ts';
import { failover } from './scenarios/failover.ts';
import { freezeDatabase } from './scenarios/freeze-database.ts';
import { fullDisk } from './scenarios/full-disk.ts';
import { hostile } from './scenarios/hostile.ts';
import { killDatabase } from './scenarios/kill-database.ts';
import { killEmbedded } from './scenarios/kill-embedded.ts';
import { killServer } from './scenarios/kill-server.ts';
import { network } from './scenarios/network.ts';
import { rollingRestarts } from './scenarios/rolling-restarts.ts';
import { twoServers } from './scenarios/two-servers.ts';

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'kill-server': killServer,
  'two-servers': twoServers,
  'rolling-restarts': rollingRestarts,
  'every-await': everyAwait,
  'kill-database': killDatabase,
  'kill-embedded': killEmbedded,
  'full-disk': fullDisk,
  hostile,
  failover,
  'freeze-database': freezeDatabase,
  network,
};
