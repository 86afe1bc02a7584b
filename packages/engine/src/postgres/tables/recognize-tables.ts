// Finds the app's tables. database.ts looks them up when a statement needs them; the start, the doctor and `instep tables`
// also look at what does not fit.

import type { PlanFieldName } from '../../rule/plan-fields.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Query } from '../statement.ts';
import { contractColumn } from '../teams-table.ts';
import type {
  ApplicationTables,
  DeclaredTable,
  Entity,
  WantedTables,
} from './application-tables.ts';
import { type Column, readTables, type Table } from './read-tables.ts';
import { columnNames, recognizeTable } from './recognize-columns.ts';
import {
  columnOf,
  keptPlanName,
  type RecognizedTable,
  rowsSql,
  teamsOf,
  usersTableOf,
} from './recognized-tables.ts';

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
  'add or alter the columns, or set INSTEP_TABLES to the names that they have (docs/your-tables.md)';

/** The usual table names, including Prisma's default ones. */
const USUAL_NAMES: Readonly<Record<Entity, readonly string[]>> = {
  users: ['users', 'User'],
  teams: ['teams', 'Team'],
  members: ['team_members', 'TeamMember'],
};

/** Many apps have something else in columns with these names, such as a subscription or the customer of a shop. */
const VAGUE_NAMES: readonly string[] = ['stripe_id', 'customer_id'];

/** The recognized tables of the application; `null` for a missing table. */
export type Recognition = {
  /** Also `null` without the profile. */
  readonly users: RecognizedTable | null;
  readonly teams: RecognizedTable | null;
  readonly members: ApplicationTables['members'];
  /** The error to throw, with its remedy; `null` when Instep can use the tables. */
  readonly unfit: ApplicationTablesUnfit | null;
};

/**
 * Finds the application's tables by the names that apps usually give them, or by the declared ones, and compares them
 * with what Instep needs. It reads only PostgreSQL's catalog, and up to 100 values of a column with a vague name.
 */
export async function recognizeTables(query: Query, wanted: WantedTables): Promise<Recognition> {
  const entities: readonly Entity[] =
    wanted.profile === 'off' ? ['teams'] : ['users', 'teams', 'members'];
  const isSearched = wanted.teams?.table === undefined;
  const customerNames = customerNamesOf(wanted);
  const tables = await readTables(query, {
    names: entities.flatMap((entity) => namesOf(entity, wanted)),
    withColumns: isSearched ? customerNames.flat() : [],
    schemas: entities.flatMap((entity) => wanted[entity]?.schema ?? []),
  });
  const usual = tableOf('teams', tables, wanted);
  const isUsual = customerNames[0].some((name) => usual?.columns.has(name));
  const candidates = isSearched && !isUsual ? await candidatesIn(tables, query, wanted) : [];
  const [only] = candidates;
  const teams = only?.table ?? usual;
  const declared = only === undefined ? wanted : { ...wanted, teams: only.declaration };

  const recognized = (entity: Entity, table = tableOf(entity, tables, wanted)) =>
    table === undefined || !entities.includes(entity)
      ? null
      : recognizeTable(entity, table, declared);
  const found = { users: recognized('users'), teams: recognized('teams', teams) };
  const all = { ...found, members: membersOf(recognized('members')) };
  return candidates.length > 1
    ? { ...all, teams: null, unfit: severalTeams(candidates) }
    : { ...all, unfit: unfitness(all, declared) };
}

function namesOf(entity: Entity, wanted: WantedTables): readonly string[] {
  const name = wanted[entity]?.table;
  return name === undefined ? USUAL_NAMES[entity] : [name];
}

/** The names that a column of Stripe's customers can have, and the vague ones. */
function customerNamesOf({ teams }: WantedTables): readonly [readonly string[], readonly string[]] {
  const own = teams?.columns?.providerCustomerId;
  return typeof own === 'string' ? [[own], []] : [columnNames('providerCustomerId'), VAGUE_NAMES];
}

const isWhereDeclared = ({ schema }: DeclaredTable<Entity> = {}) => {
  return (table: Table) => (schema === undefined ? table.isVisible : table.schema === schema);
};

/** The table with the declared name, or with the first of the usual names. */
function tableOf(entity: Entity, tables: readonly Table[], wanted: WantedTables) {
  const here = tables.filter(isWhereDeclared(wanted[entity]));
  return namesOf(entity, wanted)
    .map((name) => here.find((table) => table.name === name))
    .find((table) => table !== undefined);
}

/** A table that can be that of teams, and the declaration that selects it. */
type Candidate = { readonly table: Table; readonly declaration: DeclaredTable<'teams'> };

/** The tables with a column for Stripe's customer beside one of a plan. */
async function candidatesIn(
  tables: readonly Table[],
  query: Query,
  wanted: WantedTables,
): Promise<readonly Candidate[]> {
  const declared = wanted.teams ?? {};
  const [names, vagueNames] = customerNamesOf(wanted);
  const candidates: Candidate[] = [];
  for (const table of tables.filter(isWhereDeclared(declared))) {
    const { schema, name, columns } = table;
    if (!table.isWhole || ![...columns.keys()].some((one) => OF_PLAN.test(one))) continue;
    const declaration = { ...declared, schema, table: name };
    if (names.some((one) => columns.has(one))) {
      candidates.push({ table, declaration });
      continue;
    }
    for (const providerCustomerId of vagueNames) {
      if (!(await holdsCustomers(query, table, columns.get(providerCustomerId)))) continue;
      const named = { providerCustomerId, ...declared.columns };
      candidates.push({ table, declaration: { ...declaration, columns: named } });
      break;
    }
  }
  return candidates;
}

const OF_PLAN = /plan|product|price|period|status/i;

async function holdsCustomers(query: Query, table: Table, column?: Column): Promise<boolean> {
  if (column?.category !== 'S' || !column.canRead || !table.isSchemaUsable) return false;
  const rows = await query<{ value: string }>(
    `select ${column.sql}::text as value from ${table.sql} where ${column.sql} is not null limit 100`,
  );
  return rows.length > 0 && rows.every(({ value }) => /^(?:cus|acct)_/.test(value));
}

function severalTeams(candidates: readonly Candidate[]): ApplicationTablesUnfit {
  const names = candidates.map(({ table: { schema, name } }) => `${schema}.${name}`);
  const lines = candidates.map(({ declaration }) => {
    return `INSTEP_TABLES='${JSON.stringify({ teams: declaration })}'`;
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
  return areReadable ? { rows: rowsSql(members) } : null;
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
  if (found.teams !== null && problems.length === 0) problems.push(...lackOfPlan(found.teams));
  if (profile !== 'off' && declared.members !== undefined && found.members === null) {
    problems.push('the table of members lacks userId or teamId, or can not be read');
  }
  return problems.length === 0 ? null : new ApplicationTablesUnfit(problems, ALTER_COLUMNS);
}

/** The fields that tell which plan a team has: at least one of them must be there. */
const DECISIVE = [
  'subscriptionStatus',
  'providerProductId',
  'planName',
  'priceId',
] as const satisfies PlanFieldName[];

/** A plan's name alone, in a column that can't be null, would never say that a team has none. */
function lackOfPlan(teams: RecognizedTable): string[] {
  if (!DECISIVE.some((field) => columnOf(teams, field))) {
    const names = DECISIVE.map(contractColumn).join(', ');
    return [`${teams.table.name} has no column for a plan: one of ${names} (text) must be there`];
  }
  const kept = keptPlanName(teams);
  const others = DECISIVE.filter((field) => field !== 'planName');
  const isNameAlone = ![...others, 'providerSubscriptionId'].some((one) => columnOf(teams, one));
  return kept !== null && isNameAlone
    ? [`${kept.text}, and nothing else says so: ${kept.statement}`]
    : [];
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
  return { users: users && usersTableOf(users), teams: teamsOf(teams), members };
}
