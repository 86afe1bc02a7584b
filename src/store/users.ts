import type { Query } from '../database/database.ts';

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
