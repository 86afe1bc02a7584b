import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createHandler } from 'instep';
import { createConsole } from 'instep-console';
import { announce, consoleUser, dashboard, signIn } from 'instep-example-app';

const app = new Hono();

const instep = createHandler();
app.all('/api/user', (context) => instep(context.req.raw));
app.all('/api/stripe/webhook', (context) => instep(context.req.raw));

// Every change of a plan, also those that were made while the app was not running.
instep.onPlanChange('messages', announce);

// The operators' console, behind the app's own sign-in.
const basePath = '/admin/billing';
const billing = createConsole({ instep, basePath, authorize: consoleUser });
app.all(`${basePath}/*`, (context) => billing(context.req.raw));

app.get('/', async (context) => context.html(await dashboard(context.req.header('cookie'))));
app.post('/sign-in', async (context) => {
  const { email } = await context.req.parseBody();
  context.header('Set-Cookie', await signIn(email));
  return context.redirect('/', 303);
});

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) });
