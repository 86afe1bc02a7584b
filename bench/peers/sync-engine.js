// @stripe/sync-engine on node:http, as its library is meant to be used. `migrate` creates its tables.
import { createServer } from 'node:http';
import { runMigrations, StripeSync } from '@stripe/sync-engine';

const { DATABASE_URL = '', STRIPE_SECRET_KEY = '', STRIPE_WEBHOOK_SECRET = '', PORT } = process.env;
const MAX_CONNECTIONS = 10;

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function serve() {
  const sync = await StripeSync.create({
    poolConfig: { connectionString: DATABASE_URL, max: MAX_CONNECTIONS },
    stripeSecretKey: STRIPE_SECRET_KEY,
    stripeWebhookSecret: STRIPE_WEBHOOK_SECRET,
    // With its id, the account is not asked for at Stripe.
    stripeAccountId: 'acct_1Bench',
  });

  async function receive(request, response) {
    const body = await readBody(request);
    try {
      await sync.webhook.processWebhook(body, request.headers['stripe-signature']);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"received":true}');
    } catch {
      response.writeHead(400).end();
    }
  }

  createServer(receive).listen(Number(PORT), '127.0.0.1');
}

/** Its tables follow Stripe's OpenAPI file, which it downloads from GitHub unless there is a copy. */
async function migrate() {
  const { STRIPE_OPENAPI_FILE: openApiSpecPath } = process.env;
  await runMigrations({ databaseUrl: DATABASE_URL, openApiSpecPath });
}

await (process.argv[2] === 'migrate' ? migrate() : serve());
