import { checkHosts } from 'instep/src/doctor/database-server.ts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PostgresCluster } from '../support/postgres/postgres-cluster.ts';
import { PROMOTE, startPair } from '../support/postgres/primary-and-standby.ts';

let pair: [primary: PostgresCluster, standby: PostgresCluster];
beforeAll(async () => {
  pair = await startPair();
});
afterAll(async () => {
  for (const server of pair ?? []) await server.remove();
});

async function linesOf(role?: string): Promise<string[]> {
  const urls = pair.map(({ url }) => Object.assign(new URL(url), role && { username: role }));
  return (await checkHosts(urls)).map(({ state, result }) => `${state}: ${result}`);
}

test('reports a primary with its standby, even to a role without privileges', async () => {
  const [primary] = pair;
  await primary.ask('create role plain login');
  const listed = [
    expect.stringMatching(/^ok: .* is a primary, timeline 1$/),
    expect.stringMatching(/^ok: .* is a standby, timeline 1, .* behind$/),
  ];
  expect(await linesOf()).toEqual([
    ...listed,
    'ok: synchronous_standby_names is *, 1 of them connected',
  ]);
  await vi.waitFor(
    async () =>
      expect(await linesOf('plain')).toEqual([
        ...listed,
        "warning: synchronous_standby_names is *, but plain can't see which standbys are connected",
      ]),
    20_000,
  );
});

test('reports a second primary, and a primary that has lost its standby', async () => {
  const [, standby] = pair;
  await standby.ask(PROMOTE);
  await vi.waitFor(
    async () =>
      expect(await linesOf()).toEqual([
        expect.stringMatching(/^ok: .* is a primary, timeline 1$/),
        expect.stringMatching(/^ok: .* is a primary, timeline 2$/),
        expect.stringMatching(/^failure: .* accept writes at the same time/),
        'warning: commits wait for no standby: the last events can be lost with the primary',
      ]),
    20_000,
  );
  await standby.end('SIGINT');
  await vi.waitFor(
    async () =>
      expect(await linesOf()).toEqual([
        expect.stringMatching(/^ok: .* is a primary, timeline 1$/),
        expect.stringMatching(/^warning: .* can't be reached: connect ECONNREFUSED/),
        expect.stringMatching(/^failure: synchronous_standby_names is \*, and none/),
      ]),
    20_000,
  );
});
