import { issueSession } from '../../src/sessions/token.ts';
import type { Ask } from '../database/bench-postgres.ts';
import type { EventContent } from '../load/subscription-event.ts';
import { AUTH_SECRET } from './settings.ts';
import type { SignedIn, Size } from './system.ts';

/** A week. */
const SESSION_MS = 7 * 24 * 60 * 60 * 1_000;

const emailOf = (user: number) => `user-${user}@example.com`;

/** Users and teams in the tables that the contract names. */
export async function addUsersAndTeams(ask: Ask, { users, teams }: Size): Promise<void> {
  await ask(
    `insert into users (name, email, password_hash)
     select 'User ' || number, 'user-' || number || '@example.com',
            '$2b$10$' || repeat('benchmark', 5) || right('00000000' || number, 8)
       from generate_series(1, $1::integer) as number`,
    [users],
  );
  await ask(
    `insert into teams (name, provider_customer_id)
     select 'Team ' || number, 'cus_Bench' || lpad(number::text, 9, '0')
       from generate_series(1, $1::integer) as number`,
    [teams],
  );
  await ask('vacuum analyze users, teams');
}

/** Session cookies as the application signs them. */
export async function signIn(users: readonly number[]): Promise<SignedIn[]> {
  const key = new TextEncoder().encode(AUTH_SECRET);
  return await Promise.all(
    users.map(async (user) => {
      const token = await issueSession(user, key, { nowMs: Date.now(), lifetimeMs: SESSION_MS });
      return { cookie: `session=${token}`, proof: `"${emailOf(user)}"` };
    }),
  );
}

type TeamRow = { provider_customer_id: string; plan: string };

export async function readTeams(ask: Ask): Promise<Map<string, string>> {
  const rows = await ask<TeamRow>(
    `select provider_customer_id,
            concat_ws(' ', provider_subscription_id, provider_product_id, subscription_status)
              as plan
       from teams
      where provider_subscription_id is not null`,
  );
  return new Map(rows.map((row) => [row.provider_customer_id, row.plan]));
}

export function expectTeam({ subscriptionId, productId, status }: EventContent): string {
  return `${subscriptionId} ${productId} ${status}`;
}
