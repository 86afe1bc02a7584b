import type { DeclaredTable, TeamField, UserField } from './application-tables.ts';

/** The content of a column. A `label` is text or a value of an enumeration. */
export type Kind = 'id' | 'text' | 'label' | 'time';

/** Which of the application's two tables it is. */
export type Role = 'users' | 'teams';

type Fields<Name extends string> = Readonly<Record<Name, Kind>>;

export const USER_FIELDS: Fields<UserField> = {
  id: 'id',
  name: 'text',
  email: 'text',
  passwordHash: 'text',
  role: 'label',
  createdAt: 'time',
  updatedAt: 'time',
  deletedAt: 'time',
};

export const TEAM_FIELDS: Fields<TeamField> = {
  id: 'id',
  providerCustomerId: 'text',
  providerSubscriptionId: 'text',
  providerProductId: 'text',
  planName: 'text',
  subscriptionStatus: 'text',
  name: 'label',
  updatedAt: 'time',
};

/** The fields of a team that its table can lack. */
export const OPTIONAL_TEAM_FIELDS: readonly string[] = ['name', 'updatedAt'];

/** The name for each kind of type, and the types that fit, each preceded by PostgreSQL's category. */
export const TYPES: Readonly<Record<Kind, { name: string; fits: RegExp }>> = {
  id: { name: 'integer, uuid or text', fits: /^(?:N (?:smallint|integer|bigint)|U uuid|S .*)$/ },
  text: { name: 'text', fits: /^S / },
  label: { name: 'text', fits: /^[SE] / },
  time: { name: 'timestamptz', fits: /^D timestamp/ },
};

const snakeCase = (field: string) =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const withStripe = (field: string) => field.replace(/^provider/, 'stripe');

/**
 * The conventions by which applications name columns: the contract's, nextjs/saas-starter's and
 * Prisma's.
 */
const CONVENTIONS: readonly ((field: string) => string)[] = [
  snakeCase,
  (field) => snakeCase(withStripe(field)),
  (field) => field,
  withStripe,
];

/** The name of a field in the contract's columns: `provider_customer_id`. */
export const contractColumn = snakeCase;

/** The names that a field's column can have, the contract's first. */
export function columnNames(field: string): string[] {
  return [...new Set(CONVENTIONS.map((nameOf) => nameOf(field)))];
}

/** The names of missing columns, in the convention that most of the table's columns follow. */
export function conventionOf(fields: readonly string[], present: ReadonlySet<string>) {
  const hits = CONVENTIONS.map((nameOf) => fields.filter((field) => present.has(nameOf(field))));
  const most = Math.max(...hits.map(({ length }) => length));
  return CONVENTIONS[hits.findIndex(({ length }) => length === most)] ?? snakeCase;
}

/** A possible location of a table: in a schema or, without one, on the search path. */
export type Candidate = { readonly schema: string | null; readonly table: string };

/** The usual table names, including Prisma's default ones. */
const TABLES: Readonly<Record<Role, readonly string[]>> = {
  users: ['users', 'User'],
  teams: ['teams', 'Team'],
};

/** The possible locations of the table, the likeliest first. */
export function candidatesOf(role: Role, declared: DeclaredTable<string> = {}): Candidate[] {
  const { schema = null, table } = declared;
  return (table === undefined ? TABLES[role] : [table]).map((name) => ({ schema, table: name }));
}
