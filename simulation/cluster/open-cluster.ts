import { pause } from 'instep-engine/runtime';
import type { TcpProxy } from '../../tests/support/network/tcp-proxy.ts';
import type { PostgresCluster } from '../../tests/support/postgres/postgres-cluster.ts';
import { join, PROMOTIONS } from '../../tests/support/postgres/primary-and-standby.ts';
import type { Fleet, FleetOptions } from '../store/fleet.ts';
import { untilAvailable } from '../store/until-available.ts';
import { Instance } from './instance.ts';

const INSTANCES = 5;

const MAX_QUIET_MS = 200;
const MAX_FREEZE_MS = 500;

type Servers = {
  readonly servers: readonly [primary: PostgresCluster, standby: PostgresCluster];
  readonly proxy: TcpProxy;
};

/** Five instances that freeze at times, on a primary that its standby replaces in each batch. */
export function openCluster({ servers, proxy }: Servers, options: FleetOptions): Fleet {
  const { open, random } = options;
  const operator = open();
  const instances = Array.from(
    { length: INSTANCES },
    (_, index) => new Instance(`instance ${index + 1}`, options),
  );
  const counts = { promotions: 0, freezes: 0 };
  let [primary, standby] = servers;

  async function promote(signal: AbortSignal): Promise<void> {
    await pause(random.next() * MAX_QUIET_MS, { signal });
    await random.pick(PROMOTIONS)(primary, standby);
    proxy.leadTo(standby.url);
    [primary, standby] = [standby, primary];
    await join(primary, standby);
    counts.promotions += 1;
  }

  async function freezeRepeatedly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(random.next() * MAX_QUIET_MS, { signal });
      const instance = random.pick(instances);
      await untilAvailable(() =>
        instance.freeze(operator.query, () => pause(random.next() * MAX_FREEZE_MS, { signal })),
      );
      counts.freezes += 1;
    }
  }

  return {
    pipelines: (planSelection) => instances.map((instance) => instance.pipeline(planSelection)),
    run(batch) {
      const stopping = new AbortController();
      const { signal } = stopping;
      const faults = Promise.all([promote(signal), freezeRepeatedly(signal)]);
      // Awaited at the end. A failure before that must not be an unhandled rejection.
      faults.catch(() => undefined);
      const stops = instances.map((instance) => instance.maintain(batch));
      return async () => {
        stopping.abort();
        await faults;
        await Promise.all(stops.map((stop) => stop()));
      };
    },
    counts: () => counts,
    async close() {
      await Promise.all([operator, ...instances].map((one) => one.close()));
    },
  };
}
