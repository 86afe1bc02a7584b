import { readRunningPolicies } from 'instep/src/access/team-access.ts';
import { storeInstanceRun } from 'instep/src/maintenance/instance-runs.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);
  const note = (runId: string | null, version = '1.0.0') =>
    storeInstanceRun(store.database.query, { runId, version, accessPolicy: 'one' });
  const age = (interval: string) =>
    store.database.query(
      `update instep.runs
          set started_at = started_at - $1::interval,
              seen_at    = seen_at - $1::interval`,
      [interval],
    );
  const versions = async () =>
    (await store.database.query<{ version: string }>('select version from instep.runs')).map(
      ({ version }) => version,
    );

  beforeEach(async () => {
    await store.database.query('truncate instep.runs');
  });

  test('an instance that is seen again continues its run', async () => {
    const runId = await note(null);
    await age('30 seconds');
    expect(await note(runId)).toBe(runId);
  });

  test('an instance that was not seen for more than a minute begins another run', async () => {
    const runId = await note(null);
    await age('61 seconds');
    expect(await note(runId)).not.toBe(runId);
    expect(await versions()).toEqual(['1.0.0', '1.0.0']);
  });

  test('on demand, the processes of a version have one run', async () => {
    const noteOnDemand = () =>
      storeInstanceRun(store.database.query, { runId: null, version: '1.0.0', accessPolicy: null });
    await noteOnDemand();
    await age('2 days');
    await noteOnDemand();
    expect(await versions()).toEqual(['1.0.0']);
    // Its end is unknown, so it says nothing about the policies that are in use.
    expect(await readRunningPolicies(store.database.query)).toEqual([]);
  });

  test('each instance has its own run, and old runs are deleted', async () => {
    await note(null, 'ancient');
    await age('16 days');
    await note(null, 'a');
    await note(null, 'b');
    expect((await versions()).toSorted()).toEqual(['a', 'b']);
  });
});
