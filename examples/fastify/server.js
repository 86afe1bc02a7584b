import formBody from '@fastify/formbody';
import fastify from 'fastify';
import { fastifyInstep } from 'instep/node';
import { announce, dashboard, signIn } from 'instep-example-app';

const app = fastify();

await app.register(fastifyInstep);

// Every change of a plan, also those that were made while the app was not running.
app.instep.onPlanChange('messages', announce);

app.register(formBody);
app.get('/', async (request, reply) => {
  return reply.type('text/html').send(await dashboard(request.headers.cookie));
});
app.post('/sign-in', async (request, reply) => {
  return reply.header('Set-Cookie', await signIn(request.body.email)).redirect('/', 303);
});

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) });
