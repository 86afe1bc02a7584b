// The configuration files of this example, as a person would copy them to a machine.
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { NODES } from './hosts.js';

export const textOf = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** Replaces texts. @throws Error when one of them is missing */
export function edit(text, replacements) {
  let edited = text;
  for (const [from, to] of Object.entries(replacements)) {
    if (!edited.includes(from)) throw new Error(`nothing to replace: ${from}`);
    edited = edited.replaceAll(from, to);
  }
  return edited;
}

/** The environment of etcd and Patroni on a node. */
export function nodeEnvironment({ name, address }) {
  const [first] = NODES;
  const own = edit(textOf('node.env'), { [first.name]: name, [first.address]: address });
  return { ...parseEnv(textOf('etcd.env')), ...parseEnv(own) };
}

/** The environment of an instance that reaches the database through HAProxy, or through PgBouncer. */
export function instepEnvironment(path = 'HAProxy') {
  const text = textOf('instep.env');
  const [haproxy, pgbouncer] = [...text.matchAll(/^#?DATABASE_URL=(.*)$/gm)].map(([, url]) => url);
  return { ...parseEnv(text), DATABASE_URL: path === 'PgBouncer' ? pgbouncer : haproxy };
}

const patroni = textOf('patroni.yml');
const settingOf = (pattern) => pattern.exec(patroni)[1];

export const TTL_MS = 1_000 * Number(settingOf(/^ +ttl: (\d+)$/m));
export const SUPERUSER_PASSWORD = settingOf(/username: postgres\n +password: (\S+)/);
export const RESTAPI_PASSWORD = settingOf(/username: patroni\n +password: (\S+)/);
