import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import type { DeclaredTables } from '../postgres/tables/application-tables.ts';
import { TEAM_FIELDS, USER_FIELDS } from '../postgres/tables/fields.ts';
import { ConfigInvalid } from './environment.ts';

/** Statements quote these names, and PostgreSQL truncates longer ones. */
const name = v.pipe(
  v.string('must be a name'),
  v.regex(/^\P{Cc}{1,63}$/u, 'must be a name of 1 to 63 characters'),
);

function table(fields: object) {
  const names = Object.keys(fields);
  const field = v.picklist(
    names,
    `is not a field of this table: the fields are ${names.join(', ')}`,
  );
  const entries = {
    schema: v.optional(name),
    table: v.optional(name),
    columns: v.optional(v.record(field, name)),
  };
  return v.optional(v.strictObject(entries, 'can have only schema, table and columns'));
}

const tables = v.strictObject(
  { users: table(USER_FIELDS), teams: table(TEAM_FIELDS) },
  'can have only users and teams',
);

const EXAMPLE = '{"teams": {"table": "organizations", "columns": {"planName": "plan"}}}';

/** `INSTEP_TABLES`: JSON, or the path of a file with it. */
export const declaredTables = v.pipe(
  v.optional(v.string(), '{}'),
  v.rawTransform<string, DeclaredTables>(({ dataset, addIssue, NEVER }) => {
    const result = parseTables(dataset.value);
    if (typeof result !== 'string') return result;
    addIssue({ message: result });
    return NEVER;
  }),
);

/** The tables, or what is wrong with the text. */
function parseTables(text: string): DeclaredTables | string {
  let value: unknown;
  try {
    value = JSON.parse(text.trimStart().startsWith('{') ? text : readFileSync(text, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it can't be read";
    return `must be JSON such as ${EXAMPLE}, or the path of a file with it (${reason})`;
  }
  return checked(value);
}

function checked(value: unknown): DeclaredTables | string {
  const parsed = v.safeParse(tables, value);
  if (parsed.success) return parsed.output;
  const [{ message, path }] = parsed.issues;
  const place = path?.map(({ key }) => String(key)).join('.') ?? '';
  return place === '' ? message : `has ${place}, which ${message}`;
}

/** Checks tables that code declares. @throws ConfigInvalid */
export function checkedTables(value: DeclaredTables): DeclaredTables {
  const result = checked(value);
  if (typeof result === 'string') throw new ConfigInvalid([`the option tables ${result}`]);
  return result;
}
