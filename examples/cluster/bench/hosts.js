// The hosts, as the configuration files name them.
export const NODES = ['node1', 'node2', 'node3'].map((name, index) => ({
  name,
  address: `10.77.0.${11 + index}`,
}));

/** The Instep instances. Each has an HAProxy of its own; the last one reaches it through PgBouncer. */
export const INSTANCES = ['HAProxy', 'another HAProxy', 'PgBouncer'].map((path, index) => ({
  name: `instep${index + 1}`,
  address: `10.77.0.${21 + index}`,
  path,
}));

/** The source of the load, with an HAProxy in front of all instances. */
export const CLIENT = { name: 'client', address: '10.77.0.31' };

export const HOSTS = [...NODES, ...INSTANCES, CLIENT];
