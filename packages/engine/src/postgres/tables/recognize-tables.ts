// Finds the app's tables in PostgreSQL's catalog. database.ts looks them up when a statement needs them; connect.ts,
// the doctor and `instep tables` also look at what does not fit.

import { PLAN_FIELDS, type PlanFieldName } from '../../rule/plan-fields.ts';
import { InstepError } from '../../runtime/errors.ts';
import type { Query } from '../named-statement.ts';
import {
  type ApplicationTables,
  contractColumn,
  type Entity,
  type WantedTables,
} from './application-tables.ts';
import { declarationOf, findTeamsTables, type TeamsCandidate } from './find-teams-table.ts';
import { readTables, type Table } from './read-tables.ts';
import { columnNames, recognizeTable, writtenFields } from './recognize-columns.ts';
import {
  keptPlanName,
  type RecognizedTable,
  rowsOf,
  teamsOf,
  usersTableOf,
} from './recognized-tables.ts';

/** The fields that tables can lack. The profile has a value for each of those of users (docs/contract.md, section 2). */
const CAN_LACK: Readonly<Record<Entity, readonly string[]>> = {
  users: ['name', 'role', 'createdAt', 'updatedAt', 'deletedAt'],
  // But not all of `DECISIVE`.
  teams: ['name', 'updatedAt', ...PLAN_FIELDS.map(({ name }) => name)],
  members: [],
};

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

/** At least one of these tells which plan a team has. */
const DECISIVE: readonly string[] = [
  'subscriptionStatus',
  'providerProductId',
  'planName',
  'priceId',
] satisfies PlanFieldName[];

/** The recognized tables of the application; `null` for a missing table. */
export type Recognition = {
  /** Also `null` without the profile. */
  readonly users: RecognizedTable | null;
  readonly teams: RecognizedTable | null;
  readonly members: ApplicationTables['members'];
  /** The error to throw, with its remedy; `null` when Instep can use the tables. */
  readonly unfit: ApplicationTablesUnfit | null;
  /**
   * How to find the same tables again: the table of teams that was found by its columns counts as declared, and it still
   * has to have the fields that it has now.
   */
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
  const { planFields = [] } = wanted;
  const alsoLacking = wanted.profile === 'without password' ? ['passwordHash'] : [];
  const recognized = (entity: Entity) => {
    const table = tables.get(entity);
    if (table === undefined) return null;
    const canLack = CAN_LACK[entity].filter((field) => !planFields.includes(field));
    return recognizeTable(entity, table, [...canLack, ...alsoLacking], wanted[entity]);
  };
  const found = { users: recognized('users'), teams: recognized('teams') };
  const sameTables = {
    ...wanted,
    areNamesKnown: true,
    planFields: found.teams === null ? planFields : writtenFields(found.teams),
  };
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
  const isUsual = (typeof named === 'string' ? [named] : names).some((name) =>
    usual?.columns.has(name),
  );
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
  return areReadable ? { rows: rowsOf(members) } : null;
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

/** A plan's name alone, in a column that can't be null, would never say that a team has none. */
function lackOfPlan(teams: RecognizedTable): string[] {
  const { table } = teams;
  const fields = writtenFields(teams);
  if (!fields.some((field) => DECISIVE.includes(field))) {
    const names = DECISIVE.map(contractColumn).join(', ');
    return [`${table.name} has no column for a plan: one of ${names} (text) must be there`];
  }
  const kept = keptPlanName(teams);
  const tellsPlan = [...DECISIVE, 'providerSubscriptionId'].filter((one) => one !== 'planName');
  const isNameAlone = kept !== null && !fields.some((field) => tellsPlan.includes(field));
  return isNameAlone ? [`${kept.text}, and nothing else says so: ${kept.statement}`] : [];
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
