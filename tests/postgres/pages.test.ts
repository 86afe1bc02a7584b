import fc from 'fast-check';
import { readPage } from 'instep/src/postgres/examine.ts';
import { expect, test } from 'vitest';

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

test('pages have all rows that match, whenever time runs out', async () => {
  const property = fc.asyncProperty(anySearch, async ({ rows, limit, examined, statements }) => {
    async function read(start: number | null) {
      let ms = 0;
      const page = await readPage<number, number>({
        start,
        limit,
        clockMs: () => ms,
        keyOf: (key) => key,
        async read(after, most) {
          ms += 30 / statements;
          const rest = rows.filter(({ key }) => key > (after ?? 0));
          const some = rest.slice(0, examined);
          const found = some.filter(({ isFound }) => isFound).map(({ key }) => key);
          const isLast = some.length === rest.length;
          return {
            found: found.slice(0, most),
            examinedTo: isLast ? null : (some.at(-1)?.key ?? null),
          };
        },
      });
      expect(page.found.length).toBeLessThanOrEqual(limit);
      return page;
    }

    const found: number[] = [];
    let start: number | null = null;
    do {
      const page: Awaited<ReturnType<typeof read>> = await read(start);
      found.push(...page.found);
      start = page.next;
    } while (start !== null);
    expect(found).toEqual(rows.filter(({ isFound }) => isFound).map(({ key }) => key));
  });
  await fc.assert(property, { numRuns: 500 });
});
