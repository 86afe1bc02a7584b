// The whole cluster: etcd, PostgreSQL and Patroni on three nodes, Instep three times, and the proxies.
import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  edit,
  instepEnvironment,
  nodeEnvironment,
  SUPERUSER_PASSWORD,
  textOf,
} from './configuration.js';
import { CLIENT, INSTANCES, NODES } from './hosts.js';
import { nodeWithRole, untilHealthy } from './patroni.js';
import { Program } from './program.js';
import { INSTEP } from './requirements.js';

/** Stripe cannot be reached from this network. */
const WITHOUT_STRIPE = {
  STRIPE_API_BASE: 'http://127.0.0.1:1',
  CATCH_UP_INTERVAL: 'off',
  RECONCILE_INTERVAL: 'off',
  OPS_PORT: 'off',
};

/** PostgreSQL and PgBouncer refuse to run as root. */
function postgresUser() {
  const idOf = (option) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** Starts everything, and waits until it serves. */
export async function startCluster({ folder, programs }) {
  const user = postgresUser();
  const { PATH } = process.env;

  /** Creates a host's folder with these files. */
  function folderOf(host, files) {
    const path = join(folder, host);
    mkdirSync(path, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    chownSync(path, user.uid, user.gid);
    return path;
  }

  function nodeOn(node) {
    const home = folderOf(node.name, {});
    const yaml = edit(textOf('patroni.yml'), {
      '/run/postgresql': home,
      // A frozen Patroni would restart this machine.
      'mode: automatic': 'mode: off',
    });
    folderOf(node.name, { 'patroni.yml': yaml });
    const env = {
      PATH,
      // Patroni writes its password file there.
      HOME: home,
      LANG: 'C.UTF-8',
      ...nodeEnvironment(node),
      ETCD_DATA_DIR: join(home, 'etcd'),
      PATRONI_POSTGRESQL_DATA_DIR: join(home, 'postgresql'),
      PATRONI_POSTGRESQL_BIN_DIR: programs.postgresBin,
    };
    const on = { host: node.name, user, env, folder };
    const etcd = new Program({ ...on, name: 'etcd', command: [programs.etcd] });
    const command = [programs.patroni, join(home, 'patroni.yml')];
    return { etcd, patroni: new Program({ ...on, name: 'patroni', command }) };
  }

  function haproxyOn(host) {
    const config = join(folderOf(host, { 'haproxy.cfg': textOf('haproxy.cfg') }), 'haproxy.cfg');
    const command = [programs.haproxy, '-f', config];
    return new Program({ host, user, env: { PATH }, folder, name: 'haproxy', command });
  }

  function pgbouncerOn(host) {
    const path = folderOf(host, {});
    const ini = edit(textOf('pgbouncer.ini'), { '/etc/pgbouncer': path });
    folderOf(host, { 'pgbouncer.ini': ini, 'userlist.txt': textOf('userlist.txt') });
    const command = [programs.pgbouncer, join(path, 'pgbouncer.ini')];
    return new Program({ host, user, env: { PATH }, folder, name: 'pgbouncer', command });
  }

  function instepOn({ name: host, address, path }) {
    const env = { PATH, ...instepEnvironment(path), ...WITHOUT_STRIPE, HOST: address };
    const command = [process.execPath, INSTEP, 'serve'];
    return new Program({ host, env, folder, name: 'instep', command });
  }

  const nodes = new Map(NODES.map((node) => [node.name, nodeOn(node)]));
  for (const { etcd, patroni } of nodes.values()) {
    etcd.start();
    patroni.start();
  }
  await untilHealthy();
  const url = await createDatabase();
  await createTables(url);

  const haproxies = [...INSTANCES, CLIENT].map(({ name }) => haproxyOn(name));
  const pgbouncer = pgbouncerOn(INSTANCES.at(-1).name);
  const insteps = INSTANCES.map(instepOn);
  for (const program of [...haproxies, pgbouncer, ...insteps]) program.start();
  return { nodes, haproxies, pgbouncer, insteps };
}

/** Creates the tables of the app that the bench does not have. */
async function createTables(url) {
  const env = { PATH: process.env.PATH, ...instepEnvironment(), DATABASE_URL: url };
  await promisify(execFile)(process.execPath, [INSTEP, 'migrate', '--create-tables'], { env });
}

/**
 * Does what a person does once, as the superuser, on a new cluster.
 *
 * @returns the database's URL on its primary, because HAProxy does not run yet
 */
async function createDatabase() {
  const url = new URL(instepEnvironment().DATABASE_URL);
  const { username, password, pathname } = url;
  const { address } = await nodeWithRole('leader');
  const options = { host: address, user: 'postgres', password: SUPERUSER_PASSWORD };
  const client = new pg.Client({ ...options, database: 'postgres' });
  await client.connect();
  await client.query(
    `create role ${username} login password '${password}' in role pg_read_all_stats`,
  );
  await client.query(`create database ${pathname.slice(1)} owner ${username}`);
  await client.end();
  return Object.assign(url, { host: `${address}:5432` }).href;
}
