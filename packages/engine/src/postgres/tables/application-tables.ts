// The names of the app's tables and columns, as statements use them and as apps declare them.

import type { PlanFieldName } from '../../rule/plan-fields.ts';
import type { User } from '../application.ts';
import type { TeamsTable } from '../teams-table.ts';

/** The type of ids in statements. All integers are compared as `bigint`. */
export type IdType = TeamsTable['id']['type'];

/** The rows of a table: a subquery whose columns have the contract's names. PostgreSQL resolves it as it does a view. */
type Rows = { readonly rows: string };

/** All names are SQL: quoted where that is necessary. */
export type ApplicationTables = {
  /** `null` without the profile. */
  readonly users:
    | (Rows & {
        readonly name: string;
        readonly idType: IdType;
        /** A field that the table lacks has no column. */
        readonly columns: ReadonlyMap<string, string>;
      })
    | null;
  readonly teams: Rows &
    TeamsTable & {
      /** The column of the team's name; `null`: there is none that this role can read. */
      readonly nameColumn: string | null;
    };
  /** Which users belong to which teams, for people who search; `null`: no such table was recognized. */
  readonly members: Rows | null;
};

/** The content of a column. A `label` is text or a value of an enumeration, a `moment` a time or its seconds since 1970. */
export type ColumnContent = 'id' | 'text' | 'label' | 'time' | 'number' | 'flag' | 'moment';

/** The fields of each table, each with its content. */
export const FIELDS = {
  users: {
    id: 'id',
    name: 'text',
    email: 'text',
    passwordHash: 'text',
    role: 'label',
    createdAt: 'time',
    updatedAt: 'time',
    deletedAt: 'time',
  } satisfies Record<keyof User, ColumnContent>,
  teams: {
    id: 'id',
    providerCustomerId: 'text',
    providerSubscriptionId: 'text',
    providerProductId: 'text',
    planName: 'text',
    subscriptionStatus: 'label',
    priceId: 'text',
    quantity: 'number',
    currentPeriodEndsAt: 'moment',
    cancelAtPeriodEnd: 'flag',
    trialEndsAt: 'moment',
    name: 'label',
    updatedAt: 'time',
  } satisfies Record<PlanFieldName, ColumnContent> & Record<string, ColumnContent>,
  members: { userId: 'id', teamId: 'id' },
} as const;

/** Which of the application's tables it is. */
export type Entity = keyof typeof FIELDS;

/** The parts of a table's location that Instep can't recognize. Names are exact, and not quoted. */
export type DeclaredTable<Table extends Entity> = {
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  /** Columns by the contract's name for the field, such as `passwordHash`. `null`: no column is this field. */
  readonly columns?:
    | { readonly [Field in keyof (typeof FIELDS)[Table]]?: string | null | undefined }
    | undefined;
};

/** What to find: the application's tables, under their own names, and what the profile needs of users. */
export type WantedTables = { readonly [Table in Entity]?: DeclaredTable<Table> | undefined } & {
  /** `PROFILE` and `PROFILE_PASSWORD_HASH`; `full` when left out. */
  readonly profile?: 'full' | 'without password' | 'off' | undefined;
};
