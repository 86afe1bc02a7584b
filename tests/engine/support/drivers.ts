import { neon, neonConfig } from '@neondatabase/serverless';
import {
  neonDatabase,
  parseDatabaseUrl,
  postgresJsDatabase,
  SESSION_OPTIONS,
  type StatementRunner,
  serverAt,
} from 'instep-engine/postgres';
import postgres from 'postgres';
import { startNeonServer } from './neon-server.ts';

type OpenDriver = { readonly database: StatementRunner; close(): Promise<void> };

/** Each driver that the engine takes, with few connections. */
export const DRIVERS: Readonly<Record<string, (url: URL) => Promise<OpenDriver>>> = {
  async pg({ href }) {
    const database = openPg(href);
    return { database, close: database.close };
  },
  async postgres(url) {
    const sql = openPostgresJs(url);
    return { database: postgresJsDatabase(sql), close: () => sql.end({ timeout: 1 }) };
  },
  async neon({ href }) {
    const server = await startNeonServer(href);
    neonConfig.fetchEndpoint = () => server.endpoint;
    const sql = neon('postgresql://app:secret@neon.test/app');
    return { database: neonDatabase(sql), close: server.close };
  },
};

export function openPg(url: string) {
  return serverAt(url).open({
    maxConnections: 8,
    statementTimeoutMs: 160_000,
    onConnectionError: () => undefined,
  });
}

export function openPostgresJs(url: URL, options: postgres.Options<Record<string, never>> = {}) {
  const { host, port, user, password, database } = parseDatabaseUrl(url.href).connection;
  return postgres({
    ...{ host: host ?? '', port: port ?? 5432, username: user ?? '', database: database ?? '' },
    ...{ ...(password !== undefined && { password }), max: 4, onnotice: () => undefined },
    connection: { options: `${SESSION_OPTIONS} -c statement_timeout=5000` },
    ...options,
  });
}
