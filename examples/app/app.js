// The app that you already have: three tables, a sign-in and a dashboard.
import { readFileSync } from 'node:fs';
import { readSession } from 'instep';
import { SignJWT } from 'jose';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'));

const DAY_SECONDS = 24 * 60 * 60;

/** Returns the session cookie of this user. A real app asks for a password first. */
export async function signIn(email) {
  const { rows } = await pool.query('select id from users where email = $1', [email]);
  if (rows.length === 0) throw new Error('no such user');
  const token = await new SignJWT({ user: { id: rows[0].id } })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1 day')
    .sign(new TextEncoder().encode(process.env.AUTH_SECRET));
  return `session=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${DAY_SECONDS}`;
}

/** Returns who uses the console; `null` if nobody is signed in. A real app asks whether the user is an administrator. */
export async function consoleUser(request) {
  const session = await readSession(request);
  return session === null ? null : { name: `user:${session.userId}`, role: 'operator' };
}

/** Tells a team of a change of its plan, once: Instep can pass on a change again. */
export async function announce({ id, teamId, after }) {
  const plan = after?.planName ?? after?.providerProductId ?? 'none';
  await pool.query(
    'insert into messages (change_id, team_id, text) values ($1, $2, $3) on conflict do nothing',
    [id, teamId, `Your plan is now: ${plan}`],
  );
}

/** Returns the page of the signed-in user's team, or a sign-in form. */
export async function dashboard(cookie = '') {
  const session = await readSession(new Request('http://app', { headers: { cookie } }));
  if (session === null) {
    return page(
      '<form method="post" action="/sign-in"><input name="email"><button>Sign in</button></form>',
    );
  }
  const { rows } = await pool.query(
    `select teams.name, plan_name, provider_product_id, subscription_status,
            array(select text from messages where team_id = teams.id order by change_id) as messages
       from teams join users on users.team_id = teams.id where users.id = $1`,
    [session.userId],
  );
  const [team] = rows;
  const plan = team.plan_name ?? team.provider_product_id ?? 'none';
  const messages = team.messages.map((message) => `<p>${text(message)}</p>`);
  return page(
    `<h1>${text(team.name)}</h1><p>Plan: ${text(plan)} (${text(team.subscription_status)})</p>` +
      messages.join(''),
  );
}

const page = (main) => `<!doctype html><title>Example</title><main>${main}</main>`;
const text = (value) => `${value ?? '-'}`.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
