import type { Scenario } from './scenario.ts';
import { everyAwait } from './scenarios/every-await.ts';
import { failover } from './scenarios/failover.ts';
import { freezeDatabase } from './scenarios/freeze-database.ts';
import { fullDisk } from './scenarios/full-disk.ts';
import { fullDiskEmbedded } from './scenarios/full-disk-embedded.ts';
import { hostile } from './scenarios/hostile.ts';
import { hostileApplication } from './scenarios/hostile-application.ts';
import { idleConnections } from './scenarios/idle-connections.ts';
import { killDatabase } from './scenarios/kill-database.ts';
import { killEmbedded } from './scenarios/kill-embedded.ts';
import { killServer } from './scenarios/kill-server.ts';
import { network } from './scenarios/network.ts';
import { oneUserFlood } from './scenarios/one-user-flood.ts';
import { overload } from './scenarios/overload.ts';
import { pipelining } from './scenarios/pipelining.ts';
import { reconcile } from './scenarios/reconcile.ts';
import { rollingRestarts } from './scenarios/rolling-restarts.ts';
import { rollingUpgrade } from './scenarios/rolling-upgrade.ts';
import { shutdown } from './scenarios/shutdown.ts';
import { slowSockets } from './scenarios/slow-sockets.ts';
import { soak } from './scenarios/soak.ts';
import { twoServers } from './scenarios/two-servers.ts';
import { unsignedFlood } from './scenarios/unsigned-flood.ts';

type Scenarios = Readonly<Record<string, Scenario>>;

export const CRASHES: Scenarios = {
  'kill-server': killServer,
  'two-servers': twoServers,
  'rolling-restarts': rollingRestarts,
  'rolling-upgrade': rollingUpgrade,
  shutdown,
  'every-await': everyAwait,
};

export const OUTAGES: Scenarios = {
  'kill-database': killDatabase,
  'kill-embedded': killEmbedded,
  'full-disk-embedded': fullDiskEmbedded,
  'freeze-database': freezeDatabase,
  'full-disk': fullDisk,
  failover,
  network,
  reconcile,
};

export const ATTACKS: Scenarios = {
  hostile,
  'hostile-application': hostileApplication,
  overload,
  'slow-sockets': slowSockets,
  soak,
};

export const FLOODS: Scenarios = {
  'idle-connections': idleConnections,
  'unsigned-flood': unsignedFlood,
  pipelining,
  'one-user-flood': oneUserFlood,
};

export const SCENARIOS: Scenarios = { ...CRASHES, ...OUTAGES, ...ATTACKS, ...FLOODS };
