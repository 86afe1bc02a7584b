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
import { overload } from './scenarios/overload.ts';
import { rollingUpgrade } from './scenarios/rolling-upgrade.ts';
import { unsignedFlood } from './scenarios/unsigned-flood.ts';

type Scenarios = Readonly<Record<string, Scenario>>;

export const CRASHES: Scenarios = {
  'kill-server': killServer,
  'rolling-upgrade': rollingUpgrade,
  'every-await': everyAwait,
};

export const OUTAGES: Scenarios = {
  'kill-database': killDatabase,
  'kill-embedded': killEmbedded,
  'freeze-database': freezeDatabase,
  'full-disk': fullDisk,
  failover,
  network,
};

export const FLOODS: Scenarios = {
  hostile,
  overload,
  'unsigned-flood': unsignedFlood,
};

export const SCENARIOS: Scenarios = { ...CRASHES, ...OUTAGES, ...FLOODS };
