import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createNodeHandler } from 'instep/node';
import { announce, dashboard, signIn } from 'instep-example-app';

const instep = createNodeHandler();

// Every change of a plan, also those that were made while the app was not running.
instep.onPlanChange('messages', announce);

async function app(request, response) {
  if (request.method === 'POST' && request.url === '/sign-in') {
    const form = new URLSearchParams(await text(request));
    response.writeHead(303, { 'Set-Cookie': await signIn(form.get('email')), Location: '/' }).end();
  } else {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(await dashboard(request.headers.cookie));
  }
}

// Instep answers its two paths and leaves all others to the app.
const server = createServer((request, response) => {
  instep(request, response, () => app(request, response));
});

server.listen(process.env.PORT ?? 3000, '127.0.0.1');
