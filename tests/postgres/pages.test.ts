import fc from 'fast-check';
import type { ApplicationId } from 'instep';
import type { PageStart } from 'instep/operate';
import type { ApplicationTables, NamedStatement } from 'instep-engine/postgres';
import { expect, test, vi } from 'vitest';
import { type Examined, type Query, searchOf } from '../support/internals/database.ts';
import { type LinkedTeam, readLinkedTeams } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

/** A statement for a page: what it returns is made up below. */
type Asked = {
  readonly text: (tables: ApplicationTables) => string;
  readonly values: readonly [from: number | null, limit: number];
};

/** It names no tables. */
const NO_TABLES = {} as ApplicationTables;

/** Rows with a key each, some of which match. */
const anyList = fc
  .array(fc.boolean(), { maxLength: 40 })
  .map((matches) => matches.map((isFound, index) => ({ key: index + 1, isFound })));

const anySearch = fc.record({
  rows: anyList,
  limit: fc.integer({ min: 1, max: 7 }),
  /** How many rows a statement examines, and how many statements are in time. */
  examined: fc.integer({ min: 1, max: 9 }),
  statements: fc.integer({ min: 1, max: 4 }),
});

test('pages have all rows that match, in both directions, whenever time runs out', async () => {
  const property = fc.asyncProperty(anySearch, async ({ rows, limit, examined, statements }) => {
    async function read(start: PageStart<number> | null) {
      let ms = 0;
      vi.spyOn(performance, 'now').mockImplementation(() => ms);
      const query: Query = async <Found extends object>(statement: NamedStatement | string) => {
        ms += 30 / statements;
        const { text, values } = statement as unknown as Asked;
        const [from, most] = values;
        const isBackwards = text(NO_TABLES) === '<';
        const inOrder = isBackwards ? rows.toReversed() : rows;
        const rest = inOrder.filter(({ key }) => {
          if (from === null) return true;
          return isBackwards ? key < from : key > from;
        });
        const some = rest.slice(0, examined);
        const isLast = some.length === rest.length;
        const examinedTo = isLast ? null : (some.at(-1)?.key ?? null);
        const found = some.filter(({ isFound }) => isFound).slice(0, most);
        const none = { key: null };
        return (found.length > 0 ? found : [none]).map(
          ({ key }) => ({ key, examinedTo }) as unknown as Found,
        );
      };
      const list = searchOf<{ readonly key: number }, number, number>(query, {
        name: 'list',
        text: (_, { beyond }) => beyond,
        values: ({ from, limit }) => [from, limit],
        keyOf: (row) => (typeof row === 'number' ? row : row.key),
        complete: (stored) => stored.map(({ key }) => key),
      });
      const page = await list.page({ start, limit });
      expect(page.rows.length).toBeLessThanOrEqual(limit);
      return page;
    }

    /** The first row of the pages after a key. */
    async function firstAfter(key: number | null): Promise<number | null> {
      if (key === null) return null;
      const { rows: found, next } = await read({ side: 'after', key });
      return found[0] ?? (await firstAfter(next));
    }

    const all = rows.filter(({ isFound }) => isFound).map(({ key }) => key);
    const forward: number[] = [];
    let last = await read(null);
    expect(last.previous).toBeNull();
    for (;;) {
      forward.push(...last.rows);
      if (last.next === null) break;
      last = await read({ side: 'after', key: last.next });
    }
    expect(forward).toEqual(all);

    const [first] = last.rows;
    if (first === undefined) return;
    const backward: number[] = [];
    for (let key: number | null = first; key !== null; ) {
      const { rows: found, previous, next } = await read({ side: 'before', key });
      // The first page is full, so it can have rows that were on the page before.
      backward.unshift(...found.filter((one) => one < (backward[0] ?? first)));
      if (previous !== null) expect(await firstAfter(next)).toBe(backward[found.length] ?? first);
      key = previous;
    }
    expect([...backward, ...forward.filter((one) => one >= first)]).toEqual(all);
  });
  await fc.assert(property, { numRuns: 500 }).finally(() => vi.restoreAllMocks());
});

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
