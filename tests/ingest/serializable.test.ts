import { describe, expect, test } from 'vitest';
import {
  addTeam,
  applyProductName,
  readTeam,
  writeProductName,
} from '../support/internals/rows.ts';
import { connect, createDatabase, postgresServers } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const BATCH = 20;
const ROUNDS = 10;

describe.each(postgresServers)('$name', (server) => {
  test('two instances and renames work with serializable transactions', async () => {
    const { url, database } = await createDatabase(server);
    const name = url.pathname.slice(1);
    await database.query(
      `alter database ${name} set default_transaction_isolation = 'serializable'`,
    );
    await database.close();
    const pools = [connect(url), connect(url), connect(url)] as const;
    const { query } = pools[2];
    const customers = Array.from({ length: BATCH }, (_, index) => `cus_${index}`);
    const teamIds = await Promise.all(
      customers.map((customerId) => addTeam(query, { name: 'Team', customerId })),
    );
    const pipelines = [openPipeline(pools[0]), openPipeline(pools[1])];
    const applyName = () =>
      Promise.all(
        teamIds.map((teamId) =>
          pools[2].transaction((inside) => applyProductName(inside, 'prod_1', teamId)),
        ),
      );

    for (let round = 1; round <= ROUNDS; round += 1) {
      const events = customers.map((customerId) =>
        receivedEvent({ customerId, productId: 'prod_1', createdSeconds: round }),
      );
      const [results] = await Promise.all([
        Promise.all(pipelines.map((ingest) => ingest(events))),
        writeProductName(query, 'prod_1', `Plan ${round}`),
        applyName(),
      ]);
      const outcomes = results.flat().map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(BATCH);
      expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(BATCH);
    }

    await writeProductName(query, 'prod_1', 'Last');
    await applyName();
    const plans = await Promise.all(teamIds.map((id) => readTeam(query, id)));
    expect(new Set(plans.map((team) => team?.plan.planName))).toEqual(new Set(['Last']));
    for (const pool of pools) await pool.close();
  });
});
