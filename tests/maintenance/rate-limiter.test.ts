import { beforeEach, describe, expect, test } from 'vitest';
import { limitRate } from '../support/internals/repair.ts';
import type { StripeApi } from '../support/internals/stripe.ts';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { REFUSING_API } from '../support/service/jobs-without-stripe.ts';

const api: StripeApi = { ...REFUSING_API, retrieveProductName: async () => 'Gold' };

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  const forgetCalls = () => store.database.query('delete from instep.leased_jobs');
  const moveLastCall = (interval: string) =>
    store.database.query(
      `update instep.leased_jobs set started_at = started_at + $1::interval where name = 'stripe-call'`,
      [interval],
    );

  beforeEach(forgetCalls);

  async function readLastCallMs(): Promise<number> {
    const [row] = await store.database.query<{ started_at: Date }>(
      `select started_at from instep.leased_jobs where name = 'stripe-call'`,
    );
    return row?.started_at.getTime() ?? Number.NaN;
  }

  test('all processes of a database together make at most ten background calls in any second', async () => {
    const processes = [store.database, store.openAnother(), store.openAnother()];
    const apis = processes.map(({ query }) => limitRate(api, query));
    const timesMs: number[] = [];
    const calls = Array.from({ length: 11 }, async (_, call) => {
      await apis[call % apis.length]?.retrieveProductName('prod_1');
      timesMs.push(performance.now());
    });
    await Promise.all(calls);
    expect((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)).toBeGreaterThan(1_000);
  });

  test("continues when the database server's clock is set back", async () => {
    const { retrieveProductName } = limitRate(api, store.database.query);
    await retrieveProductName('prod_1');
    await moveLastCall('1 hour');
    expect(await retrieveProductName('prod_1')).toBe('Gold');
    expect(await readLastCallMs()).toBeLessThan(Date.now() + 60_000);
  });

  test('a waiting call ends when its signal is aborted', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const { retrieveProductName } = limitRate(
      {
        ...api,
        async retrieveProductName(_, signal) {
          signals.push(signal);
          return 'Gold';
        },
      },
      store.database.query,
    );
    await retrieveProductName('prod_1');
    await moveLastCall('50 seconds');
    const stopping = new AbortController();
    const call = retrieveProductName('prod_1', stopping.signal);
    stopping.abort();
    await call;
    expect(signals.map((signal) => signal?.aborted)).toEqual([undefined, true]);
  });
});
