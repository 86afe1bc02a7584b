// The faults, and how long the cluster may fail to answer during each of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { TTL_MS } from './configuration.js';
import { BEHIND_HAPROXY } from './load.js';
import { plugIn, signalOn, unplug } from './network.js';
import { leadEtcd, nodeWithRole, switchOver } from './patroni.js';

const SWITCHOVER_GOAL_MS = 6_000;
const FAILOVER_GOAL_MS = TTL_MS + 5_000;
/** Patroni waits up to 2 s for an answer of the lost primary, and nothing refuses the connection. */
const SILENT_FAILOVER_GOAL_MS = FAILOVER_GOAL_MS + 2_000;
const RESTART_GOAL_MS = 1_000;

/** Every failover takes less than this. */
const FAILOVER_MS = FAILOVER_GOAL_MS + 5_000;
const SHORT_MS = 6_000;
/** Between restarts, so that the restarted program is in use again. */
const SETTLE_MS = 4_000;

/**
 * `inject` starts the fault, and returns a function that ends it, if that is necessary, after `lastsMs`. The
 * goal applies to `paths`; the other paths lead through a program that is itself restarted.
 */
export const FAULTS = [
  {
    name: 'switchover',
    goalMs: SWITCHOVER_GOAL_MS,
    lastsMs: SHORT_MS,
    inject: switchOver,
  },
  {
    name: "everything killed (kill -9) on the primary's machine, which is also the etcd leader",
    goalMs: FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    inject: async ({ nodes }) => killMachine(nodes, await leadingNode()),
  },
  {
    name: 'PostgreSQL killed (kill -9) on the primary',
    goalMs: FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    async inject() {
      const { name } = await nodeWithRole('leader');
      signalOn(name, 'SIGKILL', 'postgres');
    },
  },
  {
    name: 'PostgreSQL frozen (SIGSTOP) on the primary',
    goalMs: FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    async inject() {
      const { name } = await nodeWithRole('leader');
      signalOn(name, 'SIGSTOP', 'postgres');
      return () => signalOn(name, 'SIGCONT', 'postgres');
    },
  },
  {
    name: 'Patroni frozen on the primary, which stays writable',
    goalMs: FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    async inject({ nodes }) {
      const { name } = await nodeWithRole('leader');
      const { patroni } = nodes.get(name);
      patroni.freeze();
      return () => patroni.unfreeze();
    },
  },
  {
    name: "the primary's machine, which is also the etcd leader, cut off from the network",
    goalMs: SILENT_FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    async inject() {
      const { name } = await leadingNode();
      unplug(name);
      return () => plugIn(name);
    },
  },
  {
    name: "everything killed (kill -9) on the synchronous standby's machine",
    goalMs: FAILOVER_GOAL_MS,
    lastsMs: FAILOVER_MS,
    inject: async ({ nodes }) => killMachine(nodes, await nodeWithRole('sync_standby')),
  },
  {
    name: 'etcd killed on two of three nodes (no quorum; failsafe mode)',
    goalMs: RESTART_GOAL_MS,
    lastsMs: FAILOVER_MS,
    async inject({ nodes }) {
      const [first, second] = nodes.values();
      await Promise.all([first.etcd.stop('SIGKILL'), second.etcd.stop('SIGKILL')]);
      return () => {
        first.etcd.start();
        second.etcd.start();
      };
    },
  },
  {
    name: 'the Instep instances restarted in turn',
    goalMs: RESTART_GOAL_MS,
    lastsMs: SHORT_MS,
    paths: [BEHIND_HAPROXY],
    inject: ({ insteps }) => inTurn(insteps, (instep) => instep.restart('SIGTERM')),
  },
  {
    name: 'each HAProxy restarted in turn',
    goalMs: RESTART_GOAL_MS,
    lastsMs: SHORT_MS,
    inject: ({ haproxies }) => inTurn(haproxies, (haproxy) => haproxy.restart('SIGTERM')),
  },
  {
    name: 'PgBouncer restarted',
    goalMs: RESTART_GOAL_MS,
    lastsMs: SHORT_MS,
    // Debian's unit does the same, because 1.23 and newer wait for all clients after SIGTERM.
    inject: ({ pgbouncer }) => pgbouncer.restart('SIGINT'),
  },
];

/**
 * @returns a function that starts it again
 */
function killMachine(nodes, { name }) {
  signalOn(name, 'SIGKILL');
  const { etcd, patroni } = nodes.get(name);
  return () => {
    etcd.start();
    patroni.start();
  };
}

async function inTurn(programs, restart) {
  for (const program of programs) {
    await restart(program);
    await sleep(SETTLE_MS);
  }
}

/** Makes the primary the leader of etcd as well, which is the worst case when it fails. */
async function leadingNode() {
  const node = await nodeWithRole('leader');
  await leadEtcd(node);
  return node;
}
