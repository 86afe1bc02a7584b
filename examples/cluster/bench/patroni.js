// Uses the REST APIs of Patroni and etcd.
import { setTimeout as sleep } from 'node:timers/promises';
import { RESTAPI_PASSWORD } from './configuration.js';
import { NODES } from './hosts.js';

const ANSWER_TIMEOUT_MS = 2_000;
const POLL_MS = 200;
/** What takes longest is copying the database to a node that cannot be rewound. */
const HEALTHY_TIMEOUT_MS = 120_000;

async function ask(address, path, options = {}) {
  const signal = AbortSignal.timeout(options.timeoutMs ?? ANSWER_TIMEOUT_MS);
  const response = await fetch(`http://${address}${path}`, { ...options, signal });
  const text = await response.text();
  if (!response.ok) throw new Error(`${address}${path}: ${response.status} ${text}`);
  return text;
}

/** The members of the cluster, from the first node that answers. */
async function members() {
  const answers = NODES.map(({ address }) => ask(`${address}:8008`, '/cluster'));
  return JSON.parse(await Promise.any(answers)).members;
}

/** The node with this role: `leader` or `sync_standby`. */
export async function nodeWithRole(role) {
  const member = (await members()).find((one) => one.role === role);
  if (member === undefined) throw new Error(`no node is the ${role}`);
  return NODES.find(({ name }) => name === member.name);
}

/** Makes the synchronous standby the primary. */
export async function switchOver() {
  const leader = await nodeWithRole('leader');
  await ask(`${leader.address}:8008`, '/switchover', {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`patroni:${RESTAPI_PASSWORD}`)}` },
    body: JSON.stringify({ leader: leader.name }),
    timeoutMs: HEALTHY_TIMEOUT_MS,
  });
}

/** Waits until there are a primary, a synchronous standby and another standby, and etcd is complete. */
export async function untilHealthy() {
  const giveUpAtMs = Date.now() + HEALTHY_TIMEOUT_MS;
  for (;;) {
    const problem = await findProblem().catch((error) => error.message);
    if (problem === undefined) return;
    if (Date.now() > giveUpAtMs) throw new Error(`the cluster does not recover: ${problem}`);
    await sleep(POLL_MS);
  }
}

async function findProblem() {
  await Promise.all(NODES.map(({ address }) => ask(`${address}:2379`, '/health')));
  const all = await members();
  const leader = all.find(({ role }) => role === 'leader');
  const standbys = all.filter((one) => one !== leader);
  const isFollowing = ({ state, timeline }) =>
    state === 'streaming' && timeline === leader?.timeline;
  const isHealthy =
    leader?.state === 'running' &&
    standbys.length === NODES.length - 1 &&
    standbys.every(isFollowing) &&
    standbys.some(({ role }) => role === 'sync_standby');
  return isHealthy ? undefined : JSON.stringify(all);
}

/** Makes this node the leader of etcd as well, which is the worst case when it fails. */
export async function leadEtcd({ name }) {
  for (const { address } of NODES) {
    const post = async (path, body) =>
      JSON.parse(
        await ask(`${address}:2379`, path, { method: 'POST', body: JSON.stringify(body) }),
      );
    const { header, leader } = await post('/v3/maintenance/status', {});
    if (header.member_id !== leader) continue;
    const { members: all } = await post('/v3/cluster/member/list', {});
    const targetID = all.find((member) => member.name === name).ID;
    if (targetID !== leader) await post('/v3/maintenance/transfer-leadership', { targetID });
    return;
  }
}
