import pg from 'pg';

/** A list, such as a search path, has names. */
export type Settings = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * What statements and the reading of their results rely on, whatever the database or the role sets:
 * how times are written, that times without a zone are in UTC (`column-values.ts`), how bytes are
 * written, that a null in an array is no text, and that a commit warns when no standby has it.
 */
export const SESSION_SETTINGS: Settings = {
  datestyle: 'ISO',
  timezone: 'UTC',
  bytea_output: 'hex',
  array_nulls: 'on',
  client_min_messages: 'warning',
};

/**
 * One statement for each setting: `set local timezone = 'UTC'`. And a commit is on disk before it is
 * answered with 200, even if the database or the role does not wait for that; every other setting of
 * `synchronous_commit` stays.
 */
export function setStatements(command: 'set' | 'set local', settings: Settings): string {
  const waitForDisk = `
    select set_config('synchronous_commit', 'on', ${command === 'set local'})
     where current_setting('synchronous_commit') = 'off'`;
  return Object.entries(settings)
    .map(([name, value]) => {
      const text =
        typeof value === 'object' ? value.map(pg.escapeIdentifier).join(', ') : `'${value}'`;
      return `${command} ${name} = ${text}`;
    })
    .concat(waitForDisk)
    .join(';\n');
}
