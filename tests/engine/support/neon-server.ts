import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';

type NeonQuery = { readonly query: string; readonly params: readonly (string | null)[] };

const RAW: pg.CustomTypesConfig = { getTypeParser: () => (value: unknown) => value };

/** Neon's HTTP API in front of a database, as its driver uses it: a list of statements is a transaction. */
export async function startNeonServer(connectionString: string) {
  const pool = new pg.Pool({ connectionString, max: 20 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));

  async function answer(request: IncomingMessage) {
    const { queries }: { queries: readonly NeonQuery[] } = JSON.parse(await text(request));
    const isolation = String(request.headers['neon-batch-isolation-level'])
      .replace(/(?=[A-Z])/g, ' ')
      .toLowerCase();
    const client = await pool.connect();
    try {
      const isReadOnly = request.headers['neon-batch-read-only'] === 'true';
      const mode = `isolation level ${isolation} read ${isReadOnly ? 'only' : 'write'}`;
      await client.query(`begin ${mode}`);
      const results = [];
      for (const { query, params } of queries) {
        const statement = { text: query, values: [...params], rowMode: 'array', types: RAW };
        const { rows, fields, command, rowCount } = await client.query(statement);
        results.push({ rows, fields, command, rowCount });
      }
      await client.query('commit');
      client.release();
      return { status: 200, body: { results } };
    } catch (error) {
      client.release(true);
      const message = error instanceof Error ? error.message : '';
      return { status: 400, body: { ...(error as object), message } };
    }
  }

  const server = createServer(async (request, response) => {
    const { status, body } = await answer(request);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/sql`,
    async close() {
      server.closeAllConnections();
      server.close();
      await pool.end();
    },
  };
}
