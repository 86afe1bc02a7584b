// @supabase/stripe-sync-engine on node:http, set up as its README says. `migrate` creates its tables.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

// Its migrations find their files only in the CommonJS build.
const { runMigrations, StripeSync } = createRequire(import.meta.url)(
  '@supabase/stripe-sync-engine',
);

const { DATABASE_URL = '', STRIPE_SECRET_KEY = '', STRIPE_WEBHOOK_SECRET = '', PORT } = process.env;
const MAX_CONNECTIONS = 10;

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function serve() {
  const sync = new StripeSync({
    poolConfig: { connectionString: DATABASE_URL, max: MAX_CONNECTIONS },
    stripeSecretKey: STRIPE_SECRET_KEY,
    stripeWebhookSecret: STRIPE_WEBHOOK_SECRET,
  });

  async function receive(request, response) {
    const body = await readBody(request);
    try {
      await sync.processWebhook(body, request.headers['stripe-signature']);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"received":true}');
    } catch {
      response.writeHead(400).end();
    }
  }

  createServer(receive).listen(Number(PORT), '127.0.0.1');
}

if (process.argv[2] === 'migrate') {
  await runMigrations({ databaseUrl: DATABASE_URL, schema: 'stripe' });
} else serve();
