/** Small apps without Instep, by framework: a page, and a route that needs the app's own body parser. */
export const PLAIN_SERVERS = {
  express: `import express from 'express';

const app = express();
app.use(express.json());
app.get('/', (_request, response) => response.send('the app'));
app.post('/echo', (request, response) => response.json(request.body));
app.listen(process.env.PORT, '127.0.0.1');
`,
  fastify: `import Fastify from 'fastify';

const app = Fastify();
app.get('/', async () => 'the app');
app.post('/echo', async (request) => request.body);
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
`,
  hono: `import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();
app.get('/', (context) => context.text('the app'));
app.post('/echo', async (context) => context.json(await context.req.json()));
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' });
`,
} as const;
