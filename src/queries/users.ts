import type { Query } from '../postgres/database.ts';

/** A user as stored. */
export type User = {
  readonly id: number;
  readonly name: string | null;
  readonly email: string;
  readonly passwordHash: string;
  readonly role: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
};

/** `null` for a time that ISO 8601 can't express with four digits for the year, such as infinity. */
const time = (column: string) =>
  `case when ${column} >= '0001-01-01' and ${column} < '10000-01-01' then ${column} end`;

/** The contract's types, also where the application's columns accept nulls (docs/contract.md). */
const USER = `
  id,
  name,
  coalesce(email, '') as email,
  coalesce(password_hash, '') as "passwordHash",
  coalesce(role::text, 'member') as role,
  coalesce(${time('created_at')}, ${time('updated_at')}, 'epoch') as "createdAt",
  coalesce(${time('updated_at')}, ${time('created_at')}, 'epoch') as "updatedAt",
  deleted_at as "deletedAt"`;

/** The active users with these ids. Ids are 32-bit integers: others overflow the parameter. */
export async function readActiveUsers(
  query: Query,
  ids: readonly number[],
): Promise<Map<number, User>> {
  const users = await query<User>({
    name: 'read_active_users',
    text: `
      select ${USER}
        from users
       where id = any ($1::integer[])
         and deleted_at is null`,
    values: [ids],
  });
  return new Map(users.map((user) => [user.id, user]));
}

/** The user with this id, deleted or not, or `null`. */
export async function readUser(query: Query, id: number): Promise<User | null> {
  const [user] = await query<User>({
    name: 'read_user',
    text: `
      select ${USER}
        from users
       where id = $1`,
    values: [id],
  });
  return user ?? null;
}

export type NewUser = Pick<User, 'name' | 'email' | 'passwordHash' | 'role'>;

/** Adds a user. @throws DatabaseRefused when the e-mail address is taken */
export async function addUser(query: Query, user: NewUser): Promise<User> {
  const [added] = await query<User>({
    name: 'add_user',
    text: `
      insert into users (name, email, password_hash, role)
      values ($1, $2, $3, $4)
      returning ${USER}`,
    values: [user.name, user.email, user.passwordHash, user.role],
  });
  if (added === undefined) throw new RangeError('the inserted user was not returned');
  return added;
}
