import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import {
  connect,
  createEmptyDatabase,
  postgresServers,
} from '../support/postgres/test-database.ts';

describe.each(postgresServers)('$name', (server) => {
  let database: Database;
  beforeAll(async () => {
    database = connect(await createEmptyDatabase(server));
  });

  async function read(expression: string): Promise<unknown> {
    const [row] = await database.query<{ value: unknown }>(`select ${expression} as value`);
    return row?.value;
  }

  test.each([
    ['0::bigint', 0],
    ['9007199254740991::bigint', Number.MAX_SAFE_INTEGER],
    ['(-9007199254740991)::bigint', Number.MIN_SAFE_INTEGER],
    ['count(*)', 1],
    ['null::bigint', null],
    ['2147483647::integer', 2_147_483_647],
  ])('%s is a number', async (expression, value) => {
    expect(await read(expression)).toBe(value);
  });

  test.each(['9007199254740992', '-9223372036854775808'])(
    'the bigint %s is text, not a rounded number',
    async (text) => {
      expect(await read(`(${text})::bigint`)).toBe(text);
    },
  );

  describe.each(['America/St_Johns', 'UTC', 'Asia/Kathmandu'])('in %s', (zone) => {
    const before = process.env.TZ;
    beforeEach(() => {
      process.env.TZ = zone;
    });
    afterEach(() => {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    });

    test('a timestamp without a time zone is in UTC', async () => {
      const expected = new Date('2024-07-01T12:30:00.123Z');
      expect(new Date(2024, 6, 1).getTimezoneOffset()).toBe(OFFSETS[zone]);
      expect(await read(`'2024-07-01 12:30:00.123'::timestamp`)).toEqual(expected);
      expect(await read(`'2024-07-01 12:30:00.123456'::timestamp`)).toEqual(expected);
      expect(await read('null::timestamp')).toBeNull();
    });

    test('a timestamp with a time zone is the same moment in any zone that the server shows', async () => {
      await database.transaction(async (query) => {
        for (const shown of ['Asia/Kathmandu', 'America/St_Johns', 'UTC']) {
          await query(`set local time zone '${shown}'`);
          const [row] = await query<{ value: Date }>(
            `select '2024-07-01 12:30:00.123Z'::timestamptz as value`,
          );
          expect(row?.value).toEqual(new Date('2024-07-01T12:30:00.123Z'));
        }
      });
    });

    test('timestamps of the distant past and future are read', async () => {
      for (const time of ['0999-12-31T23:59:59.000Z', '9999-12-31T23:59:59.000Z']) {
        expect(await read(`'${time}'::timestamptz at time zone 'UTC'`)).toEqual(new Date(time));
      }
    });
  });
});

/** Offsets in summer 2024, in minutes. */
const OFFSETS: Record<string, number> = {
  'America/St_Johns': 150,
  UTC: 0,
  'Asia/Kathmandu': -345,
};
