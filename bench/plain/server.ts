// The two routes as nextjs/saas-starter has them, on bare node:http: Stripe's SDK verifies the
// signature, one statement finds the team and another one updates it. No log, no order, no batches.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { jwtVerify } from 'jose';
import pg from 'pg';
import Stripe from 'stripe';

const { DATABASE_URL, PORT, AUTH_SECRET } = process.env;
const { STRIPE_SECRET_KEY = '', STRIPE_WEBHOOK_SECRET = '' } = process.env;
const MAX_CONNECTIONS = 10;

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: MAX_CONNECTIONS });
const stripe = new Stripe(STRIPE_SECRET_KEY);
const sessionKey = new TextEncoder().encode(AUTH_SECRET);

async function updateTeam({ id, customer, status, items }: Stripe.Subscription): Promise<void> {
  const found = await pool.query('select * from teams where provider_customer_id = $1 limit 1', [
    customer,
  ]);
  const [team] = found.rows;
  if (team === undefined) return;
  const product = items.data[0]?.plan.product;
  const name =
    typeof product === 'object' && product !== null && 'name' in product ? product.name : null;
  const plan =
    status === 'active' || status === 'trialing' ? [id, product, name] : [null, null, null];
  await pool.query(
    `update teams
        set provider_subscription_id = $2, provider_product_id = $3, plan_name = $4,
            subscription_status = $5, updated_at = now()
      where id = $1`,
    [team.id, ...plan, status],
  );
}

async function receive(request: IncomingMessage): Promise<{ received: true }> {
  const body = Buffer.concat(await request.toArray()).toString();
  const signature = String(request.headers['stripe-signature']);
  const event = stripe.webhooks.constructEvent(body, signature, STRIPE_WEBHOOK_SECRET);
  if (
    event.type === 'customer.subscription.updated' ||
    event.type === 'customer.subscription.deleted'
  ) {
    await updateTeam(event.data.object);
  }
  return { received: true };
}

async function findUser({ headers }: IncomingMessage): Promise<object | null> {
  const token = /session=([^;]+)/.exec(headers.cookie ?? '')?.[1];
  if (token === undefined) return null;
  const { payload } = await jwtVerify<{ user: { id: number } }>(token, sessionKey);
  const found = await pool.query(
    'select * from users where id = $1 and deleted_at is null limit 1',
    [payload.user.id],
  );
  return found.rows[0] ?? null;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isWebhook = request.method === 'POST';
  const value = await (isWebhook ? receive(request) : findUser(request));
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}

createServer((request, response) => {
  answer(request, response).catch(() => response.writeHead(500).end());
}).listen(Number(PORT), '127.0.0.1');

// On a clean exit Node writes the requested CPU profiles.
process.on('SIGTERM', () => process.exit());
