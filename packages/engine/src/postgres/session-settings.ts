// What Instep sets in a session, and how results are parsed that depend on it: for database.ts.

import pg from 'pg';

/** A list is a list of names, such as a search path. */
export type Settings = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * The settings that statements and the parsing of their results rely on, whatever the database or the role
 * sets: the format of times, UTC for times without a zone (`columnValues`), the format of bytes, nulls in
 * arrays, and the warning about a commit that no standby has. Plans are not compiled (`jit`): PostgreSQL
 * would compile the statements on a table without an index, which never pays.
 */
const SESSION_SETTINGS: Settings = {
  datestyle: 'ISO',
  timezone: 'UTC',
  bytea_output: 'hex',
  array_nulls: 'on',
  client_min_messages: 'warning',
  jit: 'off',
};

/**
 * For the statements of the log: a plan is made once, for any number of values, and uses indexes, because a table that was
 * small can have grown.
 */
export const LOG_SETTINGS: Settings = {
  ...SESSION_SETTINGS,
  default_transaction_isolation: 'read committed',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
};

/** `LOG_SETTINGS` for the `options` of a connection, whatever the database or the role sets. */
export const SESSION_OPTIONS = Object.entries({
  ...LOG_SETTINGS,
  default_transaction_read_only: 'off',
  synchronous_commit: 'on',
})
  .map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`)
  .join(' ');

/** The server ends a statement at its timeout. This long after, it is one that does not answer at all. */
export const ANSWER_MARGIN_MS = 500;

/** The settings of sessions for the statements of the log, and for others. */
export function sessionSettings(statementTimeoutMs: number, searchPath: readonly string[] | null) {
  const others: Settings = {
    ...SESSION_SETTINGS,
    statement_timeout: statementTimeoutMs,
    lock_timeout: Math.ceil(statementTimeoutMs / 2),
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    ...(searchPath && { search_path: searchPath }),
  };
  return { others, log: { ...others, ...LOG_SETTINGS } };
}

/**
 * The statement that makes these settings for the session or, `local`, for the transaction. It turns `synchronous_commit` on
 * only if it is off: a commit must be on disk before the 200 is sent.
 */
export function setSettings(settings: Settings, scope: 'session' | 'local'): string {
  const isLocal = scope === 'local';
  const values = Object.entries(settings).map(([name, value]) => {
    const text =
      typeof value === 'object' ? value.map(pg.escapeIdentifier).join(', ') : String(value);
    return `set_config('${name}', ${pg.escapeLiteral(text)}, ${isLocal})`;
  });
  return `
    select ${values.join(',\n           ')},
           set_config('synchronous_commit',
                      coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'),
                      ${isLocal})`;
}

const { builtins } = pg.types;

/**
 * Converts columns to values, independently of settings of `pg`: `bigint` becomes a number, or text when a
 * number can't hold it exactly, as with the ids of some applications; a `timestamp` without a time zone is in
 * UTC, as ORMs write it.
 */
export const columnValues = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === builtins.INT8 && format !== 'binary') return parseBigint;
    if (oid === builtins.TIMESTAMP && format !== 'binary') return parseUtc;
    return pg.types.getTypeParser(oid, format);
  },
} satisfies pg.CustomTypesConfig;

function parseBigint(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

const parseTimestamptz = pg.types.getTypeParser(builtins.TIMESTAMPTZ, 'text');

function parseUtc(text: string): unknown {
  return parseTimestamptz(`${text}+00`);
}
