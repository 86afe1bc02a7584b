import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import type { Examined } from '../support/internals/database.ts';
import { type LinkedTeam, readLinkedTeams } from '../support/internals/rows.ts';
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
  const all: unknown[] = [];
  let afterId: ApplicationId | null = null;
  do {
    const page: Examined<LinkedTeam> = await readLinkedTeams(database.query, { afterId, limit: 1 });
    all.push(...page.found.map(({ id }) => id));
    afterId = page.examinedTo;
  } while (afterId !== null);
  expect(all).toEqual(ids);
});
