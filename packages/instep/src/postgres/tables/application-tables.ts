import type { User } from '../../core/application.ts';

export type UserField = keyof User;

/** The contract's fields of a team, and two that a table can lack. */
export type TeamField =
  | 'id'
  | 'providerCustomerId'
  | 'providerSubscriptionId'
  | 'providerProductId'
  | 'planName'
  | 'subscriptionStatus'
  | 'name'
  | 'updatedAt';

/** The fields of a row that says which user belongs to which team. */
export type MemberField = 'userId' | 'teamId';

/** The type of ids in statements. All integers are compared as `bigint`. */
export type IdType = 'bigint' | 'uuid' | 'text';

/** A table of the application as statements name it: quoted, and with its schema. */
export type ApplicationTable<Field extends string> = {
  /** For writing: `public.teams`. */
  readonly name: string;
  /** For writing: `stripe_customer_id`. */
  readonly column: (field: Field) => string;
  /**
   * For reading: a subquery whose columns have the contract's names. PostgreSQL resolves it as it
   * does a view: the plan is the table's own, and locks are taken on the table's rows.
   */
  readonly rows: string;
  readonly idType: IdType;
};

export type ApplicationTables = {
  readonly users: ApplicationTable<UserField>;
  readonly teams: ApplicationTable<TeamField> & {
    /** Whether teams have a name that this role can read. */
    readonly hasNames: boolean;
    /** Whether an update can return the rows that it wrote: not with a rewrite rule, which a view's table can have too. */
    readonly returnsUpdates: boolean;
    /** The assignment that every update of a team adds, with a leading comma; empty if the column is missing. */
    readonly setUpdatedAt: string;
  };
  /** Which users belong to which teams, for people who search; `null`: no such table was recognized. */
  readonly members: Pick<ApplicationTable<MemberField>, 'rows'> | null;
};

/** The parts of a table's location that Instep can't recognize. Names are exact, and not quoted. */
export type DeclaredTable<Field extends string> = {
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  /** Columns by the contract's name for the field, such as `passwordHash`. */
  readonly columns?: Partial<Readonly<Record<Field, string | undefined>>> | undefined;
};

/** The application's own names for its tables and columns. */
export type DeclaredTables = {
  readonly users?: DeclaredTable<UserField> | undefined;
  readonly teams?: DeclaredTable<TeamField> | undefined;
  readonly members?: DeclaredTable<MemberField> | undefined;
};

/** The content of a column. A `label` is text or a value of an enumeration. */
export type Kind = 'id' | 'text' | 'label' | 'time';

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

export const MEMBER_FIELDS: Fields<MemberField> = { userId: 'id', teamId: 'id' };

export const OPTIONAL_TEAM_FIELDS: readonly string[] = ['name', 'updatedAt'];

/** The name for each kind of type, and the types that fit, each preceded by PostgreSQL's category. */
export const TYPES: Readonly<Record<Kind, { name: string; fits: RegExp }>> = {
  id: { name: 'integer, uuid or text', fits: /^(?:N (?:smallint|integer|bigint)|U uuid|S .*)$/ },
  text: { name: 'text', fits: /^S / },
  label: { name: 'text', fits: /^[SE] / },
  time: { name: 'timestamptz', fits: /^D timestamp/ },
};

/** The name of a field in the contract's columns: `provider_customer_id`. */
export const contractColumn = (field: string) =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
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
export function columnNames(field: string): string[] {
  return [...new Set(CONVENTIONS.map((nameOf) => nameOf(field)))];
}

/** The names of missing columns, in the convention that most of the table's columns follow. */
export function conventionOf(fields: readonly string[], present: ReadonlySet<string>) {
  const hits = CONVENTIONS.map((nameOf) => fields.filter((field) => present.has(nameOf(field))));
  const most = Math.max(...hits.map(({ length }) => length));
  return CONVENTIONS[hits.findIndex(({ length }) => length === most)] ?? contractColumn;
}

/** A possible location of a table: in a schema or, without one, on the search path. */
export type Candidate = { readonly schema: string | null; readonly table: string };

/** The usual table names, including Prisma's default ones. */
const TABLES: Readonly<Record<Role | 'members', readonly string[]>> = {
  users: ['users', 'User'],
  teams: ['teams', 'Team'],
  members: ['team_members', 'TeamMember'],
};

/** The possible locations of the table, the likeliest first. */
export function candidatesOf(
  role: Role | 'members',
  declared: DeclaredTable<string> = {},
): Candidate[] {
  const { schema = null, table } = declared;
  return (table === undefined ? TABLES[role] : [table]).map((name) => ({ schema, table: name }));
}

/** SQL for the table with this name, quoted and with its schema. */
export const regclass = (name: string) => `'${name.replaceAll("'", "''")}'::regclass`;
