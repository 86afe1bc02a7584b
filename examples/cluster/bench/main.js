// Builds the network, runs the bench in it, and removes everything again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLIENT, HOSTS } from './hosts.js';
import { commandOn, createNetwork, existingNamespaces, removeNetwork } from './network.js';
import { explain, findRequirements } from './requirements.js';

const USAGE = `usage: examples/cluster/run [--only TEXT]   only the faults whose name has this text
       examples/cluster/run --remove        end what a killed run has left running
`;
const FAILED = 1;
const UNUSABLE = 2;

process.exitCode = await main();

async function main() {
  const options = readOptions();
  if (options === null) return refuse(USAGE);
  const { programs, missing } = findRequirements();
  if (missing.length > 0) return refuse(explain(missing));
  if (options.remove) {
    removeNetwork();
    return 0;
  }
  if (existingNamespaces().length > 0) {
    return refuse(
      `The namespaces ${existingNamespaces().join(', ')} exist: another run is active, or one was ` +
        'killed. In that case: examples/cluster/run --remove\n',
    );
  }
  // Imported only here, because it imports the build of Instep.
  const { FAULTS } = await import('./faults.js');
  const { only = '' } = options;
  if (!FAULTS.some(({ name }) => name.includes(only)))
    return refuse(`No fault's name has this text: ${only}\n`);
  return await runBench({ programs, only });
}

async function runBench(options) {
  // From here on, Ctrl-C ends only the bench, and what it started is removed.
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort());
  const folder = mkdtempSync(join(tmpdir(), 'instep-example-cluster-'));
  chmodSync(folder, 0o755);
  let code = FAILED;
  try {
    createNetwork(HOSTS);
    code = await runOnClient({ ...options, folder }, stop.signal);
  } finally {
    removeNetwork();
    if (code === 0) rmSync(folder, { recursive: true });
    else keepLogs(folder);
  }
  return code;
}

/** @returns its exit code */
async function runOnClient(options, signal) {
  const script = new URL('bench.js', import.meta.url).pathname;
  const command = [process.execPath, script, JSON.stringify(options)];
  const [program, ...args] = commandOn(CLIENT.name, command);
  const child = spawn(program, args, { stdio: 'inherit', signal });
  try {
    const [code] = await once(child, 'exit');
    return code ?? FAILED;
  } catch (error) {
    if (signal.aborted) return FAILED;
    throw error;
  }
}

function keepLogs(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) rmSync(join(folder, entry.name), { recursive: true });
  }
  process.stderr.write(`The logs are in ${folder}\n`);
}

function readOptions() {
  try {
    const options = { only: { type: 'string' }, remove: { type: 'boolean' } };
    return parseArgs({ options }).values;
  } catch {
    return null;
  }
}

function refuse(text) {
  process.stderr.write(text);
  return UNUSABLE;
}
