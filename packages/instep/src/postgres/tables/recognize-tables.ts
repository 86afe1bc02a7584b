import { PLAN_FIELDS } from '../../core/transition.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Query } from '../statement.ts';
import type { DeclaredTable, DeclaredTables } from './application-tables.ts';
import {
  candidatesOf,
  columnNames,
  conventionOf,
  type Kind,
  OPTIONAL_TEAM_FIELDS,
  type Role,
  TEAM_FIELDS,
  TYPES,
  USER_FIELDS,
} from './fields.ts';
import { type Column, readTables, type Table } from './read-tables.ts';

/** A table of the application is missing, lacks a column, or has one with an unusable type. */
export class ApplicationTablesUnfit extends InstepError {
  readonly code = 'APPLICATION_TABLES_UNFIT';
  /** The tables or columns, and what is wrong with each. */
  readonly problems: readonly string[];
  readonly advice: string;

  constructor(problems: readonly string[], advice: string) {
    super(`the application's tables do not fit: ${problems.join('; ')}: ${advice}`);
    this.problems = problems;
    this.advice = advice;
  }
}

const CREATE_TABLE =
  "run your app's migrations, set INSTEP_TABLES to your names, or name the table's schema in " +
  'DATABASE_URL (?schema=…); Instep creates users and teams only together, when it first migrates ' +
  'a database';

const ALTER_COLUMNS =
  'add or alter the columns, or set INSTEP_TABLES to the names that they have (docs/configuration.md)';

const isPlanField = (field: string) => PLAN_FIELDS.some((one) => one === field);

/** A field and the column that was recognized as it. */
export type RecognizedColumn = {
  readonly field: string;
  /** The column's name, or the expected one when it is missing. */
  readonly name: string;
  /** `null` when it is missing. */
  readonly column: Column | null;
  readonly isOptional: boolean;
  readonly expectedType: string;
  /** Why Instep can't use the table with this column; `null` when it can. */
  readonly problem: string | null;
};

export type RecognizedTable = {
  readonly role: Role;
  readonly table: Table;
  readonly columns: readonly RecognizedColumn[];
};

/** The recognized tables of the application; `null` for a missing table. */
export type Recognition = {
  readonly users: RecognizedTable | null;
  readonly teams: RecognizedTable | null;
  /** The error to throw, with its remedy; `null` when Instep can use the tables. */
  readonly unfit: ApplicationTablesUnfit | null;
};

/** Compares the application's tables with what Instep needs. It reads only PostgreSQL's catalog. */
export async function recognizeTables(
  query: Query,
  declared: DeclaredTables,
): Promise<Recognition> {
  const candidates = {
    users: candidatesOf('users', declared.users),
    teams: candidatesOf('teams', declared.teams),
  };
  const tables = await readTables(query, candidates);
  const of = (role: Role) => {
    const table = tables.get(role);
    return table === undefined ? null : recognizeTable(role, table, declared[role]);
  };
  const [users, teams] = [of('users'), of('teams')];
  return { users, teams, unfit: unfitness({ users, teams }, declared) };
}

function recognizeTable(
  role: Role,
  table: Table,
  declared: DeclaredTable<string> = {},
): RecognizedTable {
  const fields: [string, Kind][] = Object.entries(role === 'users' ? USER_FIELDS : TEAM_FIELDS);
  const names = fields.map(([field]) => field);
  const nameOf = conventionOf(names, new Set(table.columns.keys()));
  const columns = fields.map(([field, kind]) => {
    const own = declared.columns?.[field];
    const found = (own === undefined ? columnNames(field) : [own]).find((name) =>
      table.columns.has(name),
    );
    const name = found ?? own ?? nameOf(field);
    const column = table.columns.get(name) ?? null;
    const isOptional = role === 'teams' && OPTIONAL_TEAM_FIELDS.includes(field);
    const { name: expectedType, fits } = TYPES[kind];
    const isFit = column !== null && fits.test(`${column.category} ${column.type}`);
    const isNeeded = !isOptional || own !== undefined;
    const place = `${table.name}.${name}`;
    let problem: string | null = null;
    if (column === null && isNeeded) problem = `${place} (${expectedType}) is missing`;
    else if (!isFit && isNeeded) problem = `${place} is ${column?.type}, not ${expectedType}`;
    else if (isPlanField(field) && !column?.isUpdatable) problem = `${place} can't be updated`;
    return {
      field,
      name,
      column: isFit || !isOptional ? column : null,
      isOptional,
      expectedType,
      problem,
    };
  });
  return { role, table, columns };
}

function unfitness(
  found: Pick<Recognition, Role>,
  declared: DeclaredTables,
): ApplicationTablesUnfit | null {
  const missing = (['users', 'teams'] as const).filter((role) => found[role] === null);
  if (missing.length > 0) {
    const problems = missing.map((role) => {
      const { schema, table = role } = declared[role] ?? {};
      return `the table ${schema === undefined ? '' : `${schema}.`}${table} is missing`;
    });
    return new ApplicationTablesUnfit(problems, CREATE_TABLE);
  }
  const columns = [found.users, found.teams].flatMap((table) => table?.columns ?? []);
  const problems = columns.flatMap(({ problem }) => problem ?? []);
  return problems.length === 0 ? null : new ApplicationTablesUnfit(problems, ALTER_COLUMNS);
}
