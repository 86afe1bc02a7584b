import { createHmac } from 'node:crypto';
import { PLANS, priceIdOf } from '../load/subscription-event.ts';
import { migratePeer, peerEnvironment, peerProgram } from './peer-program.ts';
import { AUTH_SECRET } from './settings.ts';
import type { SignedIn, System } from './system.ts';

const NAME = 'better-auth';

const TOKEN_LENGTH = 32;

type Row = { customer: string; plan: string };

/** Here users have the subscriptions, and a price determines the plan. */
export const betterAuth: System = {
  name: NAME,
  title: 'better-auth + @better-auth/stripe',
  isPeer: true,
  keepsOrder: false,
  webhookPath: '/api/auth/stripe/webhook',
  profiles: { path: '/api/auth/get-session', signIn },
  async prepare(databaseUrl, ask, { teams, users }) {
    await migratePeer(NAME, databaseUrl);
    await ask(
      `insert into "user" (id, name, email, "emailVerified", "createdAt", "updatedAt",
                           "stripeCustomerId")
       select number, 'User ' || number, 'user-' || number || '@example.com', true, now(), now(),
              'cus_Bench' || lpad(number::text, 9, '0')
         from generate_series(1, $1::integer) as number`,
      [Math.max(teams, users)],
    );
    await ask(
      `insert into subscription (id, plan, "referenceId", "stripeCustomerId",
                                 "stripeSubscriptionId", status)
       select number, 'starter', number, 'cus_Bench' || lpad(number::text, 9, '0'),
              'sub_1Bench' || lpad(number::text, 18, '0'), 'incomplete'
         from generate_series(1, $1::integer) as number`,
      [teams],
    );
    await ask(
      `insert into session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
       select number, lpad(number::text, $2, '0'), number, now() + interval '7 days', now(), now()
         from generate_series(1, $1::integer) as number`,
      [users, TOKEN_LENGTH],
    );
    // It looks up the subscription of each event, and creates no index for that.
    await ask('create index on subscription ("stripeSubscriptionId")');
    await ask('vacuum analyze');
  },
  server: (databaseUrl) => ({
    arguments: [peerProgram(NAME)],
    environment: { ...peerEnvironment(databaseUrl), PLANS: JSON.stringify(plans) },
    readyPath: '/api/auth/ok',
  }),
  countLogged: null,
  async readSubscriptions(ask) {
    const rows = await ask<Row>(
      `select "stripeCustomerId" as customer,
              concat_ws(' ', "stripeSubscriptionId", plan, status) as plan
         from subscription`,
    );
    return new Map(rows.map(({ customer, plan }) => [customer, plan]));
  },
  expect: ({ subscriptionId, priceId, status }) =>
    `${subscriptionId} ${plans.find((plan) => plan.priceId === priceId)?.name} ${status}`,
};

const plans = PLANS.map((name, plan) => ({ name: name.toLowerCase(), priceId: priceIdOf(plan) }));

/** The cookie contains the session's token and its MAC. */
async function signIn(users: readonly number[]): Promise<SignedIn[]> {
  return users.map((user) => {
    const token = String(user).padStart(TOKEN_LENGTH, '0');
    const mac = createHmac('sha256', AUTH_SECRET).update(token).digest('base64');
    const cookie = `better-auth.session_token=${encodeURIComponent(`${token}.${mac}`)}`;
    return { cookie, proof: `"user-${user}@example.com"` };
  });
}
