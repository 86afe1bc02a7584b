// A separate network: each host is a network namespace, and all of them are connected to one bridge. Nothing
// leads out of it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const PREFIX = 'instep-';
/** The namespace of the bridge, where each host's cable ends. */
const LAN = `${PREFIX}lan`;

const ip = (...args) => execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' });

/** The namespaces of this network that exist. */
export function existingNamespaces() {
  return ip('netns', 'list')
    .split('\n')
    .map((line) => line.split(' ')[0])
    .filter((name) => name.startsWith(PREFIX));
}

/** @param {readonly { readonly name: string, readonly address: string }[]} hosts */
export function createNetwork(hosts) {
  ip('netns', 'add', LAN);
  ip('-n', LAN, 'link', 'add', 'bridge', 'type', 'bridge');
  ip('-n', LAN, 'link', 'set', 'bridge', 'up');
  for (const { name, address } of hosts) {
    const namespace = `${PREFIX}${name}`;
    ip('netns', 'add', namespace);
    ip('-n', LAN, 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'lan', 'netns', namespace);
    ip('-n', LAN, 'link', 'set', name, 'master', 'bridge', 'up');
    ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'lan');
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    ip('-n', namespace, 'link', 'set', 'lan', 'up');
  }
}

/** Ends every process in the network, and removes it. */
export function removeNetwork() {
  for (const namespace of existingNamespaces()) {
    for (let pids = pidsIn(namespace); pids.length > 0; pids = pidsIn(namespace))
      signal(pids, 'SIGKILL');
    ip('netns', 'delete', namespace);
  }
}

/** Wraps a command so that it runs on a host. */
export function commandOn(host, command, user) {
  const asUser = user === undefined ? [] : ['--setuid', `${user.uid}`, '--setgid', `${user.gid}`];
  return ['nsenter', `--net=/run/netns/${PREFIX}${host}`, ...asUser, '--', ...command];
}

export const unplug = (host) => ip('-n', LAN, 'link', 'set', host, 'down');
export const plugIn = (host) => ip('-n', LAN, 'link', 'set', host, 'up');

/** Sends a signal to the processes of a host, or only to those of one program. */
export function signalOn(host, name, program) {
  const pids = pidsIn(`${PREFIX}${host}`);
  signal(program === undefined ? pids : pids.filter((pid) => programOf(pid) === program), name);
}

function pidsIn(namespace) {
  return ip('netns', 'pids', namespace).split('\n').filter(Boolean).map(Number);
}

function programOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // The process has ended.
    return undefined;
  }
}

function signal(pids, name) {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // ESRCH: the process had already ended.
      if (error.code !== 'ESRCH') throw error;
    }
  }
}
