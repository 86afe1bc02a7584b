// The floor: the least code that does the job, without anything that makes it reliable.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { createEvents } from './events.ts';
import { createProfiles } from './profiles.ts';

const { DATABASE_URL, AUTH_SECRET = '', STRIPE_WEBHOOK_SECRET = '', PORT } = process.env;
// Keep timestamps as PostgreSQL writes them.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => text);
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2, pipeline: true });
const takeEvent = createEvents(pool, STRIPE_WEBHOOK_SECRET);
const findProfile = createProfiles(pool, AUTH_SECRET);

function answer(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': length });
  response.end(body);
}

function receive(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [first = Buffer.alloc(0)] = chunks;
    const body = chunks.length === 1 ? first : Buffer.concat(chunks);
    takeEvent(body, String(request.headers['stripe-signature']), (isStored) =>
      answer(response, isStored ? 200 : 400, { received: isStored }),
    );
  });
}

createServer((request, response) => {
  if (request.method === 'POST') receive(request, response);
  else findProfile(request.headers.cookie ?? '', (profile) => answer(response, 200, profile));
}).listen(Number(PORT), '127.0.0.1');

// On a clean exit Node writes the requested CPU profiles.
process.on('SIGTERM', () => process.exit());
