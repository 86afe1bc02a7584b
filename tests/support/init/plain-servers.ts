/** Small apps without Instep: a page, and a route that needs the app's own body parser. */
export const PLAIN_SERVERS = [
  {
    framework: 'express',
    file: 'server.js',
    text: `import express from 'express';

const app = express();
app.use(express.json());
app.get('/', (_request, response) => response.send('the app'));
app.post('/echo', (request, response) => response.json(request.body));
app.listen(process.env.PORT, '127.0.0.1');
`,
  },
  {
    framework: 'express',
    file: 'app.cjs',
    text: `var express = require('express');
var path = require('path');

var app = express();

app.set('views', path.join(__dirname, 'views'));
app.use(express.json());
app.get('/', function (request, response) {
  response.send('the app');
});
app.post('/echo', function (request, response) {
  response.json(request.body);
});
app.listen(process.env.PORT, '127.0.0.1');
`,
  },
  {
    framework: 'fastify',
    file: 'server.js',
    text: `import Fastify from 'fastify';

const app = Fastify();
app.get('/', async () => 'the app');
app.post('/echo', async (request) => request.body);
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
`,
  },
  {
    framework: 'hono',
    file: 'server.js',
    text: `import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const app = new Hono();
app.get('/', (context) => context.text('the app'));
app.post('/echo', async (context) => context.json(await context.req.json()));
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' });
`,
  },
] as const;
