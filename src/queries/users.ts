import type { Query } from '../postgres/database.ts';

/** A user as stored (contract, section 2). */
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

type UserRow = {
  id: number;
  name: string | null;
  email: string;
  password_hash: string;
  role: string;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
};

/** The active users among these ids. Ids are 32-bit integers: others overflow the parameter. */
export async function readActiveUsers(
  query: Query,
  ids: readonly number[],
): Promise<Map<number, User>> {
  const rows = await query<UserRow>(
    `select id, name, email, password_hash, role, created_at, updated_at, deleted_at
       from users
      where id = any ($1::integer[])
        and deleted_at is null`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, toUser(row)]));
}

/** The user of this id, deleted or not, or `null`. */
export async function readUser(query: Query, id: number): Promise<User | null> {
  const [row] = await query<UserRow>(
    `select id, name, email, password_hash, role, created_at, updated_at, deleted_at
       from users
      where id = $1`,
    [id],
  );
  return row === undefined ? null : toUser(row);
}

export type NewUser = Pick<User, 'name' | 'email' | 'passwordHash' | 'role'>;

/** Adds a user. @throws DatabaseRefused when the e-mail address is taken */
export async function addUser(query: Query, user: NewUser): Promise<User> {
  const [row] = await query<UserRow>(
    `insert into users (name, email, password_hash, role)
     values ($1, $2, $3, $4)
     returning id, name, email, password_hash, role, created_at, updated_at, deleted_at`,
    [user.name, user.email, user.passwordHash, user.role],
  );
  if (row === undefined) throw new RangeError('the inserted user was not returned');
  return toUser(row);
}

function toUser(row: UserRow): User {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    passwordHash: row.password_hash,
    role: row.role,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
  };
}
