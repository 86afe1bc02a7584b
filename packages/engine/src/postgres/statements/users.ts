// Reads users from the app's table: for the profile, and for commands.

import { InstepError } from '../../runtime/errors.ts';
import type { ApplicationId, User } from '../application.ts';
import type { Query } from '../database.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idsFrom } from '../tables/id-from-text.ts';

/** Something needs the table of users, which Instep does not look for with `PROFILE=off`. */
export class ProfileOff extends InstepError {
  readonly code = 'PROFILE_OFF';

  constructor(problem: string) {
    super(
      `${problem}, because PROFILE is off: set PROFILE=on and AUTH_SECRET (docs/configuration.md)`,
    );
  }
}

/** @throws ProfileOff */
function usersOf({ users }: ApplicationTables): NonNullable<ApplicationTables['users']> {
  if (users === null) throw new ProfileOff('Instep does not know the table of users');
  return users;
}

type UserRow = Omit<User, 'createdAt' | 'updatedAt' | 'deletedAt'> &
  Readonly<Record<'createdAt' | 'updatedAt', Date | number | null>>;

/** The contract's types, even where the application's columns accept nulls (docs/contract.md). */
const USER_COLUMNS = `
             id,
             name,
             coalesce(email, '') as email,
             coalesce(password_hash, '') as "passwordHash",
             coalesce(role::text, 'member') as role,
             created_at as "createdAt",
             updated_at as "updatedAt"`;

const EPOCH = new Date(0).toISOString();

function toUser({ createdAt, updatedAt, ...user }: UserRow): User {
  const [created, updated] = [isoTime(createdAt), isoTime(updatedAt)];
  return {
    ...user,
    createdAt: created ?? updated ?? EPOCH,
    updatedAt: updated ?? created ?? EPOCH,
    deletedAt: null,
  };
}

/** `null` for a time that a client can't read: one whose year needs more than four digits, or `infinity`. */
function isoTime(time: UserRow['createdAt']): string | null {
  // A year that no `Date` can have is `null` in JSON.
  const text = time instanceof Date ? time.toJSON() : null;
  return text?.length === EPOCH.length ? text : null;
}

const READ_ACTIVE_USERS = (tables: ApplicationTables) => {
  const { rows, idType } = usersOf(tables);
  return `
      select ${USER_COLUMNS}
        from ${rows} as users
       where id = any (${idsFrom(idType, '$1', '$2')})
         and deleted_at is null`;
};

export async function readActiveUsers(
  query: Query,
  ids: readonly ApplicationId[],
): Promise<Map<ApplicationId, User>> {
  const numbers = ids.filter((id) => Number.isSafeInteger(id));
  const others = ids.filter((id) => !Number.isSafeInteger(id));
  const rows = await query<UserRow>({
    name: 'read_active_users',
    text: READ_ACTIVE_USERS,
    values: [numbers, others],
  });
  return new Map(rows.map((row) => [row.id, toUser(row)]));
}

type NewUser = Pick<User, 'name' | 'email' | 'passwordHash' | 'role'>;

const NEW_USER_FIELDS = ['name', 'email', 'passwordHash', 'role'] as const;

const ADD_USER = (tables: ApplicationTables) => {
  const { name, columns } = usersOf(tables);
  const parameters = NEW_USER_FIELDS.map((field, index) => [field, `$${index + 1}`] as const);
  const stored = parameters.filter(([field]) => columns.has(field));
  const left = parameters.filter(([field]) => !columns.has(field));
  // A parameter without a column has a type only by a cast.
  return `
      insert into ${name} (${stored.map(([field]) => columns.get(field)).join(', ')})
      select ${stored.map(([, parameter]) => parameter).join(', ')}
        from (select ${left.map(([, parameter]) => `${parameter}::text`).join(', ')}) as left_out
      returning ${columns.get('id')} as id`;
};

/**
 * Adds a user.
 *
 * @throws DatabaseRefused when the e-mail address is taken, or the table has other required columns
 */
export async function addUser(query: Query, user: NewUser): Promise<User> {
  const values = NEW_USER_FIELDS.map((field) => user[field]);
  const [added] = await query<Pick<User, 'id'>>({ name: 'add_user', text: ADD_USER, values });
  const [stored] = added === undefined ? [] : (await readActiveUsers(query, [added.id])).values();
  if (stored === undefined) throw new RangeError('the inserted user was not returned');
  return stored;
}
