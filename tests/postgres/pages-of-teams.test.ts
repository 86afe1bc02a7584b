import { readLinkedTeams } from 'instep/src/postgres/statements/teams.ts';
import { expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';

test.each([
  [
    'uuid',
    [
      '00000000-0000-0000-0000-000000000000',
      '00000000-0000-0000-0000-000000000001',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ],
  ],
  ['bigint', ['-9223372036854775808', 1, '9223372036854775807']],
  ['text', ['', 'a', 'b']],
])('pages of teams whose ids are %s include each once, also the smallest', async (type, ids) => {
  const { database } = await createDatabase();
  await database.query(`
    alter table teams alter column id drop identity;
    alter table teams alter column id type ${type} using null;`);
  for (const id of ids) {
    const values = [id, `cus_${id}`];
    await database.query(
      `insert into teams (id, name, provider_customer_id) values ($1, '', $2)`,
      values,
    );
  }
  const found: unknown[] = [];
  for (;;) {
    const [team] = await readLinkedTeams(database.query, {
      afterId: (found.at(-1) as string) ?? null,
      limit: 1,
    });
    if (team === undefined) break;
    found.push(team.id);
  }
  expect(found).toEqual(ids);
  await database.close();
});
