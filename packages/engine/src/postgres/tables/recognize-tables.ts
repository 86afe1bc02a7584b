// Finds the app's tables in PostgreSQL's catalog. database.ts looks them up when a statement needs them; connect.ts,
// the doctor and `instep tables` also look at what does not fit.

import { CONTRACT_FIELDS } from '../../rule/plan-fields.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Query } from '../named-statement.ts';
import {
  type ApplicationTables,
  type ColumnContent,
  contractColumn,
  type DeclaredTable,
  type Entity,
  FIELDS,
  type WantedTables,
} from './application-tables.ts';
import { declarationOf, findTeamsTables, type TeamsCandidate } from './find-teams-table.ts';
import { readTables, type Table } from './read-tables.ts';
import {
  columnOf,
  dropNotNull,
  keptPlanName,
  type RecognizedColumn,
  type RecognizedTable,
  tableOf,
  updatedAtAssignment,
} from './recognized-tables.ts';

/** Teams can lack these, or have something else under their names. */
const OPTIONAL_TEAM_FIELDS: readonly string[] = ['name', 'updatedAt'];

/** Users can lack these, because the profile has a value for each (docs/contract.md, section 2). */
const DEFAULTED_USER_FIELDS: readonly string[] = [
  'name',
  'role',
  'createdAt',
  'updatedAt',
  'deletedAt',
];

/** The types that fit, each after its category in PostgreSQL, and their name for people. */
const COLUMN_TYPES: Readonly<Record<ColumnContent, { name: string; fits: RegExp }>> = {
  id: { name: 'integer, uuid or text', fits: /^(?:N (?:smallint|integer|bigint)|U uuid|S .*)$/ },
  text: { name: 'text', fits: /^S / },
  label: { name: 'text', fits: /^[SE] / },
  time: { name: 'timestamptz', fits: /^D timestamp/ },
};

const withStripe = (field: string) => field.replace(/^provider/, 'stripe');

/**
 * The conventions by which applications name columns: the contract's, nextjs/saas-starter's and
 * Prisma's.
 */
const CONVENTIONS: readonly ((field: string) => string)[] = [
  contractColumn,
  (field) => contractColumn(withStripe(field)),
  (field) => field,
  withStripe,
];

/** The names that a field's column can have, the contract's first. */
function columnNames(field: string): string[] {
  return [...new Set(CONVENTIONS.map((nameOf) => nameOf(field)))];
}

/** The names of missing columns, in the convention that most of the table's columns follow. */
function conventionOf(fields: readonly string[], present: ReadonlySet<string>) {
  const hits = CONVENTIONS.map((nameOf) => fields.filter((field) => present.has(nameOf(field))));
  const most = Math.max(...hits.map(({ length }) => length));
  return CONVENTIONS[hits.findIndex(({ length }) => length === most)] ?? contractColumn;
}

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
  "run your app's migrations first, set INSTEP_TABLES to your names, or name the table's schema in " +
  'DATABASE_URL (?schema=…); for an app without both tables, `instep migrate --create-tables` creates them';

const ALTER_COLUMNS =
  'add or alter the columns, or set INSTEP_TABLES to the names that they have (docs/configuration.md)';

/** A canceled plan sets these to null. */
const CLEARED_FIELDS: readonly string[] = ['providerSubscriptionId', 'providerProductId'];

const isPlanField = (field: string) => CONTRACT_FIELDS.some((one) => one === field);

/** The recognized tables of the application; `null` for a missing table. */
export type Recognition = {
  /** Also `null` without the profile. */
  readonly users: RecognizedTable | null;
  readonly teams: RecognizedTable | null;
  readonly members: ApplicationTables['members'];
  /** The error to throw, with its remedy; `null` when Instep can use the tables. */
  readonly unfit: ApplicationTablesUnfit | null;
  /** How to find the same tables again: the table of teams that was found by its columns counts as declared. */
  readonly sameTables: WantedTables;
};

/**
 * Finds the application's tables by the names that apps usually give them, or by the declared ones, and compares them
 * with what Instep needs. It reads only PostgreSQL's catalog, and a few values of a column with a vague name.
 */
export async function recognizeTables(query: Query, wanted: WantedTables): Promise<Recognition> {
  const tables = await readTables(query, wanted);
  const candidates = await otherTeamsTables(query, tables.get('teams'), wanted);
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) {
    return await recognizeTables(query, { ...wanted, teams: declarationOf(only, wanted.teams) });
  }
  const canLack = {
    users: [
      ...DEFAULTED_USER_FIELDS,
      ...(wanted.profile === 'without password' ? ['passwordHash'] : []),
    ],
    teams: OPTIONAL_TEAM_FIELDS,
    members: [],
  };
  const recognized = (entity: Entity) => {
    const table = tables.get(entity);
    if (table === undefined) return null;
    return recognizeTable(entity, table, canLack[entity], wanted[entity]);
  };
  const found = { users: recognized('users'), teams: recognized('teams') };
  const sameTables = { ...wanted, areNamesKnown: true };
  const all = { ...found, members: membersOf(recognized('members')), sameTables };
  if (candidates.length > 1) {
    return { ...all, teams: null, unfit: severalTeams(candidates, wanted) };
  }
  return { ...all, unfit: unfitness(all, wanted) };
}

/** The tables that can be that of teams, if none is declared, and none with the usual name has a customer's column. */
async function otherTeamsTables(
  query: Query,
  usual: Table | undefined,
  { teams: declared, areNamesKnown = false }: WantedTables,
): Promise<readonly TeamsCandidate[]> {
  const names = columnNames('providerCustomerId');
  const named = declared?.columns?.providerCustomerId;
  const isUsual = (named === undefined ? names : [named]).some((name) => usual?.columns.has(name));
  return areNamesKnown || declared?.table !== undefined || isUsual
    ? []
    : await findTeamsTables(query, names, declared);
}

function severalTeams(candidates: readonly TeamsCandidate[], { teams }: WantedTables) {
  const names = candidates.map(({ schema, name }) => `${schema}.${name}`);
  const lines = candidates.map((candidate) => {
    return `INSTEP_TABLES='${JSON.stringify({ teams: declarationOf(candidate, teams) })}'`;
  });
  return new ApplicationTablesUnfit(
    [`each of ${names.join(', ')} can be the table of teams`],
    `select one: ${lines.join(' or ')}`,
  );
}

/** The table of members; `null` if it can't be read. */
function membersOf(members: RecognizedTable | null): ApplicationTables['members'] {
  if (!members?.table.isSchemaUsable) return null;
  const areReadable = members.columns.every(({ column, problem }) => {
    return problem === null && column?.canRead === true;
  });
  return areReadable ? { rows: tableOf(members).rows } : null;
}

function recognizeTable(
  entity: Entity,
  table: Table,
  canLack: readonly string[],
  declared: DeclaredTable<string> = {},
): RecognizedTable {
  const fields: [string, ColumnContent][] = Object.entries(FIELDS[entity]);
  const names = fields.map(([field]) => field);
  const nameOf = conventionOf(names, new Set(table.columns.keys()));
  const columns = fields.map(([field, kind]) => {
    const declaredName = declared.columns?.[field];
    const possible = declaredName === undefined ? columnNames(field) : [declaredName];
    const name = possible.find((one) => table.columns.has(one)) ?? declaredName ?? nameOf(field);
    const column = table.columns.get(name) ?? null;
    // A user's column that exists is read: of another type, it could hide who is deleted.
    const isOptional = canLack.includes(field) && (entity === 'teams' || column === null);
    const { name: expectedType, fits } = COLUMN_TYPES[kind];
    const isFit = column !== null && fits.test(`${column.category} ${column.type}`);
    const isNeeded = !isOptional || declaredName !== undefined;
    const place = `${table.name}.${name}`;
    let problem: string | null = null;
    if (column === null && isNeeded) problem = `${place} (${expectedType}) is missing`;
    else if (!isFit && isNeeded) problem = `${place} is ${column?.type}, not ${expectedType}`;
    else if (isPlanField(field) && !column?.isUpdatable) problem = `${place} can't be updated`;
    else if (column?.isNullable === false && CLEARED_FIELDS.includes(field)) {
      problem = `${place} can't be null, so a canceled plan stays: ${dropNotNull(table, column)}`;
    }
    return {
      field,
      name,
      column: isFit || !isOptional ? column : null,
      isOptional,
      problem,
    };
  });
  return { entity, table, columns: entity === 'teams' ? withSharedColumns(columns) : columns };
}

/** A column of a team can hold only one of the fields that Instep needs there. */
function withSharedColumns(columns: readonly RecognizedColumn[]): RecognizedColumn[] {
  return columns.map((column) => {
    const { field, name, isOptional } = column;
    const sharing = columns.find(
      (one) => one.field !== field && one.name === name && !one.isOptional && one.column !== null,
    );
    if (isOptional || sharing === undefined || column.problem !== null) return column;
    return { ...column, problem: `${name} is the column of both ${field} and ${sharing.field}` };
  });
}

function unfitness(
  found: Omit<Recognition, 'unfit'>,
  { profile, ...declared }: WantedTables,
): ApplicationTablesUnfit | null {
  const entities = profile === 'off' ? (['teams'] as const) : (['users', 'teams'] as const);
  const missing = entities.filter((entity) => found[entity] === null);
  if (missing.length > 0) {
    const problems = missing.map((entity) => {
      const { schema, table = entity } = declared[entity] ?? {};
      return `the table ${schema === undefined ? '' : `${schema}.`}${table} is missing`;
    });
    return new ApplicationTablesUnfit(problems, CREATE_TABLE);
  }
  const columns = [found.users, found.teams].flatMap((table) => table?.columns ?? []);
  const problems = columns.flatMap(({ problem }) => problem ?? []);
  if (profile !== 'off' && declared.members !== undefined && found.members === null) {
    problems.push('the table of members lacks userId or teamId, or can not be read');
  }
  return problems.length === 0 ? null : new ApplicationTablesUnfit(problems, ALTER_COLUMNS);
}

/** The tables for statements. @throws ApplicationTablesUnfit with everything that is missing or has an unusable type */
export function applicationTablesOf({
  users,
  teams,
  members,
  unfit,
}: Recognition): ApplicationTables {
  if (unfit !== null) throw unfit;
  if (teams === null) throw new RangeError('a missing table is unfit');
  const teamName = columnOf(teams, 'name');
  const hasNames = teamName?.canRead ?? false;
  const name = hasNames && teamName !== null ? `${teamName.sql}::text` : 'null::text';
  return {
    users: users && tableOf(users),
    members,
    teams: {
      ...tableOf(teams, `${name} as name`),
      hasNames,
      setUpdatedAt: updatedAtAssignment(teams),
      keepsPlanName: keptPlanName(teams) !== null,
    },
  };
}
