import pg from 'pg';

const { builtins } = pg.types;

/**
 * Converts columns to values, independently of settings of `pg`: `bigint` becomes a number, or text when a
 * number can't hold it exactly, as with the ids of some applications; a `timestamp` without a time zone is in
 * UTC, as ORMs write it.
 */
export const columnValues: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === builtins.INT8 && format !== 'binary') return parseBigint;
    if (oid === builtins.TIMESTAMP && format !== 'binary') return parseUtc;
    return pg.types.getTypeParser(oid, format);
  },
};

function parseBigint(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

const parseTimestamptz = pg.types.getTypeParser(builtins.TIMESTAMPTZ, 'text');

function parseUtc(text: string): unknown {
  return parseTimestamptz(`${text}+00`);
}
