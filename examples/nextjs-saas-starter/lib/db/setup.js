// Creates the tables and two users, as the app's own migrations and seed would.
import { randomBytes, scryptSync } from 'node:crypto';
import postgres from 'postgres';

const sql = postgres(process.env.POSTGRES_URL, { onnotice: () => undefined });

/** Ada's team has paid before, so its checkout stored the customer id. Grace's team has not. */
const PEOPLE = [
  { name: 'Ada', email: 'ada@example.com', team: 'Acme', customer: 'cus_acme' },
  { name: 'Grace', email: 'grace@example.com', team: 'Flow', customer: null },
];

function hashPassword(password) {
  const salt = randomBytes(16).toString('hex');
  return `${salt}:${scryptSync(password, salt, 32).toString('hex')}`;
}

await sql.file('lib/db/schema.sql');
for (const { name, email, team, customer } of PEOPLE) {
  await sql`
    with owner as (
      insert into users (name, email, password_hash, role)
      values (${name}, ${email}, ${hashPassword('password')}, 'owner')
      on conflict do nothing returning id
    ), created as (
      insert into teams (name, stripe_customer_id)
      select ${team}::text, ${customer}::text from owner returning id
    )
    insert into team_members (user_id, team_id, role)
    select owner.id, created.id, 'owner' from owner, created`;
}
await sql.end();
