import express from 'express';
import { createNodeHandler } from 'instep/node';
import { createConsole, toNodeListener } from 'instep-console';
import { announce, consoleUser, dashboard, signIn } from 'instep-example-app';

const app = express();

// Before every body parser: Stripe signs the raw body.
const instep = createNodeHandler();
app.use(instep);

// Every change of a plan, also those that were made while the app was not running.
instep.onPlanChange('messages', announce);

// The operators' console, behind the app's own sign-in.
const basePath = '/admin/billing';
app.use(basePath, toNodeListener(createConsole({ instep, basePath, authorize: consoleUser })));

app.use(express.urlencoded());
app.get('/', async (request, response) => {
  response.send(await dashboard(request.headers.cookie));
});
app.post('/sign-in', async (request, response) => {
  response.set('Set-Cookie', await signIn(request.body.email)).redirect(303, '/');
});

app.listen(process.env.PORT ?? 3000, '127.0.0.1');
