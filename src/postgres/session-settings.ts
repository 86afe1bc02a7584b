type Settings = Readonly<Record<string, string | number>>;

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

/** One statement for each setting: `set local timezone = 'UTC'`. */
export function setStatements(command: 'set' | 'set local', settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${command} ${name} = '${value}'`)
    .join(';\n');
}
