import type { ApplicationId } from '../core/application-id.ts';
import type { Query } from '../postgres/database.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from './id-from-text.ts';
import { insertError } from './unfilled-columns.ts';

/** A user as stored. */
export type User = {
  readonly id: ApplicationId;
  readonly name: string | null;
  readonly email: string;
  readonly passwordHash: string;
  readonly role: string;
  /** This time and the next ones in ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly deletedAt: string | null;
};

/**
 * A time in ISO 8601, as the session is in UTC; `null` for one that needs more than four digits for the
 * year, such as infinity. PostgreSQL writes it in less time than a `Date` takes.
 */
const time = (column: string) =>
  `case
     when ${column} >= '0001-01-01' and ${column} < '10000-01-01'
     then to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
   end`;

const EPOCH = new Date(0).toISOString();

/** The contract's types, also where the application's columns accept nulls (docs/contract.md). */
const USER = `
  id,
  name,
  coalesce(email, '') as email,
  coalesce(password_hash, '') as "passwordHash",
  coalesce(role::text, 'member') as role,
  coalesce(${time('created_at')}, ${time('updated_at')}, '${EPOCH}') as "createdAt",
  coalesce(${time('updated_at')}, ${time('created_at')}, '${EPOCH}') as "updatedAt",
  coalesce(${time('deleted_at')}, deleted_at::text) as "deletedAt"`;

const READ_ACTIVE_USERS = ({ users }: ApplicationTables) => `
      select ${USER}
        from ${users.rows} as users
       where id = any (array(
               select ${idFrom(users.idType, 'asked.id')}
                 from unnest($1::text[]) as asked (id)
             ))
         and deleted_at is null`;

/** The active users with these ids. */
export async function readActiveUsers(
  query: Query,
  ids: readonly ApplicationId[],
): Promise<Map<ApplicationId, User>> {
  const users = await query<User>({
    name: 'read_active_users',
    text: READ_ACTIVE_USERS,
    values: [ids],
  });
  return new Map(users.map((user) => [user.id, user]));
}

const READ_USER = ({ users }: ApplicationTables) => `
      select ${USER}
        from ${users.rows} as users
       where id = ${idFrom(users.idType, '$1::text')}`;

/** The user with this id, deleted or not, or `null`. */
export async function readUser(query: Query, id: ApplicationId): Promise<User | null> {
  const [user] = await query<User>({ name: 'read_user', text: READ_USER, values: [id] });
  return user ?? null;
}

export type NewUser = Pick<User, 'name' | 'email' | 'passwordHash' | 'role'>;

const NEW_USER = ({ users: { name, column } }: ApplicationTables) => ({
  table: name,
  filled: [column('name'), column('email'), column('passwordHash'), column('role')],
});

const ADD_USER = (tables: ApplicationTables) => {
  const { table, filled } = NEW_USER(tables);
  return `
      insert into ${table} (${filled.join(', ')})
      values ($1, $2, $3, $4)
      returning ${tables.users.column('id')} as id`;
};

/**
 * Adds a user.
 *
 * @throws DatabaseRefused when the e-mail address is taken, or the table has other required columns
 */
export async function addUser(query: Query, user: NewUser): Promise<User> {
  const [added] = await query<Pick<User, 'id'>>({
    name: 'add_user',
    text: ADD_USER,
    values: [user.name, user.email, user.passwordHash, user.role],
  }).catch(async (error) => {
    throw await insertError(query, error, NEW_USER);
  });
  const stored = added === undefined ? null : await readUser(query, added.id);
  if (stored === null) throw new RangeError('the inserted user was not returned');
  return stored;
}
