import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import type { Examined } from '../support/internals/database.ts';
import { type LinkedTeam, readLinkedTeams } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

test.each([
  ['uuid', `lpad(to_hex(number), 32, '0')::uuid`, '00000000-0000-0000-0000-000000000000'],
  ['bigint', 'number', '-9223372036854775808'],
  ['text', `to_char(number, 'FM0000')`, ''],
])('pages of teams whose ids are %s include each once, also the smallest', async (...cases) => {
  const [type, id, smallest] = cases;
  const { database } = await createDatabase();
  const { query } = database;
  await query(`
    alter table teams alter column id drop identity;
    alter table teams alter column id type ${type} using null;`);
  const fields = 'insert into teams (id, name, provider_customer_id)';
  await query(`${fields} values ($1, '', 'cus_0')`, [smallest]);
  await query(
    `${fields} select ${id}, '', 'cus_' || number from generate_series(1, 999) as number`,
  );
  const all: unknown[] = [];
  let afterId: ApplicationId | null = null;
  do {
    const page: Examined<LinkedTeam> = await readLinkedTeams(query, afterId);
    all.push(...page.found.map(({ customerId }) => customerId));
    afterId = page.examinedTo;
  } while (afterId !== null);
  expect(all).toEqual(Array.from({ length: 1_000 }, (_, number) => `cus_${number}`));
});
