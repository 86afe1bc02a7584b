import { createHmac, createSecretKey } from 'node:crypto';
import type pg from 'pg';
import { createBatches } from './batches.ts';

/** A user's profile, as PostgreSQL returns it. */
type Profile = { readonly id: number };

const SELECT = `
  select id, name, email, password_hash as "passwordHash", role, created_at as "createdAt",
         updated_at as "updatedAt", deleted_at as "deletedAt"
    from users
   where id = any ($1::integer[])
     and deleted_at is null`;

export function createProfiles(pool: pg.Pool, secret: string) {
  const key = createSecretKey(secret, 'utf8');
  const users = new Map<string, number>();

  function userOf(cookie: string): number {
    const known = users.get(cookie);
    if (known !== undefined) return known;
    const [head = '', payload = '', signature] = cookie.slice('session='.length).split('.');
    const mac = createHmac('sha256', key).update(`${head}.${payload}`).digest('base64url');
    if (mac !== signature) return 0;
    const { user } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    users.set(cookie, user.id);
    return user.id;
  }

  const find = createBatches<number, Profile | null>(async (ids) => {
    const { rows } = await pool.query<Profile>({ name: 'profiles', text: SELECT, values: [ids] });
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id) ?? null);
  });

  return (cookie: string, done: (profile: Profile | null) => void): void => {
    const id = userOf(cookie);
    if (id === 0) done(null);
    else find(id, done);
  };
}
