// better-auth with @better-auth/stripe on node:http, set up as their documentation says. `migrate` creates
// their tables.
import { createServer } from 'node:http';
import { stripe } from '@better-auth/stripe';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import pg from 'pg';
import Stripe from 'stripe';

const {
  DATABASE_URL,
  AUTH_SECRET,
  STRIPE_SECRET_KEY = '',
  STRIPE_WEBHOOK_SECRET = '',
} = process.env;
const { PLANS = '[]', PORT = '3000' } = process.env;

const database = new pg.Pool({ connectionString: DATABASE_URL });

const auth = betterAuth({
  baseURL: `http://127.0.0.1:${PORT}`,
  secret: AUTH_SECRET,
  database,
  // In production it answers only 100 requests per address in 10 seconds.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  plugins: [
    stripe({
      stripeClient: new Stripe(STRIPE_SECRET_KEY),
      stripeWebhookSecret: STRIPE_WEBHOOK_SECRET,
      createCustomerOnSignUp: false,
      subscription: { enabled: true, plans: JSON.parse(PLANS) },
    }),
  ],
});

if (process.argv[2] === 'migrate') {
  const { runMigrations } = await getMigrations(auth.options);
  await runMigrations();
  await database.end();
} else createServer(toNodeHandler(auth)).listen(Number(PORT), '127.0.0.1');
