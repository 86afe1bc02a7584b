// Runs on the host `client`, once the network exists: starts the cluster, sends requests while faults happen,
// and audits the result.
import { setTimeout as sleep } from 'node:timers/promises';
import { addTeams, audit } from './audit.js';
import { startCluster } from './cluster.js';
import { addUser, stalestMs, startCounter } from './counter.js';
import { query } from './database.js';
import { FAULTS } from './faults.js';
import { INSTANCES } from './hosts.js';
import { PATH_NAMES, startLoad } from './load.js';
import { isMet, outagesOf, tableOf } from './outages.js';
import { untilHealthy } from './patroni.js';

const STALE_GOAL_MS = 3_000;
/** Before each fault. */
const CALM_MS = 2_000;
const POLL_MS = 100;
const START_TIMEOUT_MS = 60_000;

const say = (text) => process.stdout.write(`${text}\n`);

const { folder, programs, only } = JSON.parse(process.argv[2]);

say('starting the cluster');
const cluster = await startCluster({ folder, programs });
for (const { address } of INSTANCES) await untilReady(`http://${address}:3000/readyz`);

await addTeams(query);
const userId = await addUser();
const counter = startCounter(userId);
const load = await startLoad({ userId });

const rows = [];
for (const fault of FAULTS.filter(({ name }) => name.includes(only))) {
  await untilHealthy();
  await sleep(CALM_MS);
  say(fault.name);
  const fromMs = performance.now();
  const end = await fault.inject(cluster);
  await sleep(fault.lastsMs);
  await end?.();
  await untilHealthy();
  await sleep(CALM_MS);
  const outagesMs = outagesOf(load.answers, fromMs, performance.now());
  rows.push({ fault, outagesMs });
  say(
    `  ${PATH_NAMES.map((path, index) => `${path}: ${Math.round(outagesMs[index])} ms`).join(', ')}`,
  );
}
await load.finish();
await counter.finish();

const { teams, lost, wrong } = await audit(load, query);
const staleMs = stalestMs(load.reads, counter.commits);
say(`\n${tableOf(PATH_NAMES, rows)}`);
for (const line of [...lost, ...wrong]) say(line);
say(
  `${load.acknowledged.size} events acknowledged, ${lost.length} lost; ` +
    `${teams} teams, ${wrong.length} wrong; ` +
    `${load.reads.length} profiles, the stalest by ${Math.round(staleMs)} ms`,
);
const isDone =
  rows.every((row) => isMet(PATH_NAMES, row)) &&
  lost.length + wrong.length === 0 &&
  staleMs <= STALE_GOAL_MS;
say(isDone ? 'All goals are met.' : 'Not all goals are met.');
process.exit(isDone ? 0 : 1);

async function untilReady(url) {
  const giveUpAtMs = Date.now() + START_TIMEOUT_MS;
  while ((await fetch(url).catch(() => null))?.status !== 200) {
    if (Date.now() > giveUpAtMs) throw new Error(`not ready: ${url}`);
    await sleep(POLL_MS);
  }
}
