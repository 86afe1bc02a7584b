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

/** Both tables of the application. */
export type ApplicationTables = {
  readonly users: ApplicationTable<UserField>;
  readonly teams: ApplicationTable<TeamField> & {
    /** Whether teams have a name that this role can read. */
    readonly hasNames: boolean;
    /** Whether an update can return the rows that it wrote: not with a rule, which a view's table can have too. */
    readonly returnsUpdates: boolean;
    /** The assignment that every update of a team adds, with a leading comma; empty if the column is missing. */
    readonly setUpdatedAt: string;
  };
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
};
