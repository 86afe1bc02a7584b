// Finds the app's tables in PostgreSQL's catalog. database.ts looks them up when a statement needs them; connect.ts,
// the doctor and `instep tables` also look at what does not fit.

import { PLAN_FIELDS, type PlanFieldName } from '../../rule/plan-fields.ts';
import { effectOf, STATUSES } from '../../rule/status.ts';
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
import { type Column, readTables, type Table } from './read-tables.ts';
import {
  columnOf,
  dropNotNull,
  keptPlanName,
  type RecognizedColumn,
  type RecognizedTable,
  tableOf,
  teamRows,
  teamsTableOf,
} from './recognized-tables.ts';

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
  number: { name: 'integer', fits: /^N (?:smallint|integer|bigint)$/ },
  flag: { name: 'boolean', fits: /^B boolean$/ },
  moment: {
    name: 'timestamptz, or bigint for seconds',
    fits: /^(?:D timestamp.*|N (?:integer|bigint))$/,
  },
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

/** How applications call fields otherwise. Not `plan` and `status`, which hold the application's own words in most. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  subscriptionStatus: ['stripeSubscriptionStatus', 'stripeStatus'],
  priceId: ['stripePriceId', 'providerPriceId'],
  quantity: ['stripeQuantity'],
  currentPeriodEndsAt: ['currentPeriodEnd', 'stripeCurrentPeriodEnd', 'periodEnd'],
  cancelAtPeriodEnd: ['stripeCancelAtPeriodEnd'],
  trialEndsAt: ['trialEnd', 'stripeTrialEnd'],
};

/** The names that a field's column can have, the contract's first. */
function columnNames(field: string): string[] {
  return [...new Set([field, ...(OTHER_NAMES[field] ?? [])].flatMap(namesOf))];
}

const namesOf = (field: string) => CONVENTIONS.map((nameOf) => nameOf(field));

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

const PLAN_FIELD_OF = new Map<string, (typeof PLAN_FIELDS)[number]>(
  PLAN_FIELDS.map((field) => [field.name, field]),
);

/** At least one of these tells which plan a team has. */
const DECISIVE: readonly string[] = [
  'subscriptionStatus',
  'providerProductId',
  'planName',
  'priceId',
] satisfies PlanFieldName[];

/** The statuses that are written. */
const WRITTEN_STATUSES = Object.keys(STATUSES).filter((status) => effectOf(status) !== 'none');

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
  const canLack = {
    users: [
      ...DEFAULTED_USER_FIELDS,
      ...(wanted.profile === 'without password' ? ['passwordHash'] : []),
    ],
    teams: ['name', 'updatedAt', ...PLAN_FIELD_OF.keys()].filter(
      (one) => !planFields.includes(one),
    ),
    members: [],
  };
  const recognized = (entity: Entity) => {
    const table = tables.get(entity);
    if (table === undefined) return null;
    return recognizeTable(entity, table, canLack[entity], wanted[entity]);
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
  return areReadable ? { rows: tableOf(members).rows } : null;
}

function recognizeTable(
  entity: Entity,
  table: Table,
  canLack: readonly string[],
  declared: DeclaredTable<string> = {},
): RecognizedTable {
  const fields: [string, ColumnContent][] = Object.entries(FIELDS[entity]);
  const nameOf = conventionOf(
    fields.map(([field]) => field),
    new Set(table.columns.keys()),
  );
  const columns = fields.map(([field, content]) => {
    const declaredName = declared.columns?.[field];
    const possible = typeof declaredName === 'string' ? [declaredName] : columnNames(field);
    const present =
      declaredName === null ? [] : possible.flatMap((one) => table.columns.get(one) ?? []);
    const { name: expectedType, fits } = COLUMN_TYPES[content];
    const fitting = present.find(({ category, type }) => fits.test(`${category} ${type}`));
    const named = fitting ?? present[0] ?? null;
    // A user's column that exists is read: of another type, it could hide who is deleted. So is one of the contract's plan.
    const mustFit = entity === 'users' || PLAN_FIELD_OF.get(field)?.isRequired === true;
    const isNeeded =
      typeof declaredName === 'string' || !canLack.includes(field) || (mustFit && named !== null);
    const column = isNeeded ? named : (fitting ?? null);
    const name = column?.name ?? declaredName ?? nameOf(field);
    const place = `${table.name}.${name}`;
    let problem: string | null = null;
    if (isNeeded && column === null) problem = `${place} (${expectedType}) is missing`;
    else if (isNeeded && fitting === undefined) {
      problem = `${place} is ${column?.type}, not ${expectedType}`;
    } else if (column !== null && entity === 'teams')
      problem = whyNotWritable(table, field, column);
    const isWritten = column !== null && PLAN_FIELD_OF.has(field);
    return { field, name, column, isOptional: !isNeeded && !isWritten, problem };
  });
  return { entity, table, columns: entity === 'teams' ? withSharedColumns(columns) : columns };
}

/** Why a field of a plan can't be written to a column of its type. */
function whyNotWritable(table: Table, field: string, column: Column): string | null {
  const planField = PLAN_FIELD_OF.get(field);
  if (planField === undefined) return null;
  const place = `${table.name}.${column.name}`;
  if (!column.isUpdatable) return `${place} can't be updated`;
  const missing = WRITTEN_STATUSES.find((status) => column.labels?.includes(status) === false);
  if (missing !== undefined) {
    return `${place} can't be ${missing}: alter type ${column.type} add value '${missing}';`;
  }
  const { name, type, whenCleared } = planField;
  const isKept = name === 'planName' || type === 'boolean' || whenCleared === 'set';
  return column.isNullable || isKept
    ? null
    : `${place} can't be null, so a canceled plan stays: ${dropNotNull(table, column)}`;
}

const writtenFields = ({ columns }: RecognizedTable) =>
  columns.flatMap(({ field, column }) =>
    column !== null && PLAN_FIELD_OF.has(field) ? field : [],
  );

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
  if (found.teams !== null && problems.length === 0) problems.push(...lackOfPlan(found.teams));
  if (profile !== 'off' && declared.members !== undefined && found.members === null) {
    problems.push('the table of members lacks userId or teamId, or can not be read');
  }
  return problems.length === 0 ? null : new ApplicationTablesUnfit(problems, ALTER_COLUMNS);
}

/** A plan's name alone, in a column that can't be null, would never say that a team has none. */
function lackOfPlan(teams: RecognizedTable): string[] {
  const { table } = teams;
  const decisive = writtenFields(teams).filter((field) => DECISIVE.includes(field));
  if (decisive.length === 0) {
    const names = DECISIVE.map(contractColumn).join(', ');
    return [`${table.name} has no column for a plan: one of ${names} (text) must be there`];
  }
  const kept = keptPlanName(teams);
  const isNameAlone = kept !== null && decisive.every((field) => field === 'planName');
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
  const teamName = columnOf(teams, 'name');
  const hasNames = teamName?.canRead ?? false;
  const name = hasNames && teamName !== null ? `${teamName.sql}::text` : 'null::text';
  const table = teamsTableOf(teams);
  return {
    users: users && tableOf(users),
    members,
    teams: { ...teamRows(teams, table, name), hasNames, table },
  };
}
