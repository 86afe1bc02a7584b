import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printMessage } from 'instep/src/cli/output.ts';
import { connectToServer, prepareDatabase } from 'instep/src/database/connect.ts';
import type { DatabaseServer } from 'instep-engine/postgres';
import { parseDatabaseUrl } from 'instep-engine/src/postgres/database-url.ts';

type SimulatedDatabase = {
  readonly server: DatabaseServer;
  /** The variables with which `instep serve` uses the same database. */
  readonly environment: Readonly<Record<string, string>>;
};

/**
 * Runs a simulation on its own embedded database, which is removed afterward, or on the one of this
 * URL, which keeps the data of the simulation.
 */
export async function withSimulatedDatabase<Result>(
  url: string | undefined,
  work: (database: SimulatedDatabase) => Promise<Result>,
): Promise<Result> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'instep-simulation-'));
  const address = url === undefined ? null : parseDatabaseUrl(url);
  const environment: Readonly<Record<string, string>> =
    url === undefined ? { INSTEP_DATA: dataFolder } : { DATABASE_URL: url };
  try {
    const server = await connectToServer({ address, dataFolder, notice: () => undefined });
    try {
      await prepareDatabase(server, {
        createsTables: true,
        onConnectionError: (error) => printMessage(`database connection lost: ${error.message}`),
      });
      return await work({ server, environment });
    } finally {
      await server.release();
    }
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}
