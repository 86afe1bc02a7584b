// `pg` as the engine's database.

import { databaseError } from './errors.ts';
import type { Statement, StatementRunner } from './statement.ts';

/** What is used of a pool of `pg`, in any version. */
export type PgPool = { connect(): Promise<PgClient> };

type PgClient = {
  query(statement: {
    name?: string;
    text: string;
    values?: unknown[];
  }): Promise<{ rows: object[] }>;
  release(error?: Error): void;
};

/**
 * The settings that the engine's statements rely on, for the `options` of a connection, whatever the database or the role
 * sets. Plans are made once, for any number of values, and use indexes, because a table that was small can have grown.
 * They are not compiled (`jit`), which never pays here.
 */
export const SESSION_OPTIONS = [
  'default_transaction_isolation=read\\ committed',
  'default_transaction_read_only=off',
  'synchronous_commit=on',
  'timezone=UTC',
  'client_min_messages=warning',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

/** The connections of the pool must have `SESSION_OPTIONS`. */
export function pgDatabase(pool: PgPool): StatementRunner {
  const timeouts = new WeakMap<PgClient, number>();

  async function run<Row extends object>({ name, text, values }: Statement, timeoutMs: number) {
    const client = await pool.connect();
    try {
      // The queue of batches nearly always has the same connection, and the same timeout.
      if (timeouts.get(client) !== timeoutMs) {
        await client.query({ text: `set statement_timeout = ${Math.ceil(timeoutMs)}` });
        timeouts.set(client, timeoutMs);
      }
      const { rows } = await client.query({ name, text, values: [...values] });
      client.release();
      // The statement's text determines the columns.
      return rows as Row[];
    } catch (error) {
      client.release(isOfConnection(error) ? error : undefined);
      throw error;
    }
  }

  return {
    async run(statement, timeoutMs) {
      try {
        return await run(statement, timeoutMs);
      } catch (error) {
        throw databaseError(error);
      }
    },
  };
}

/** An error that PostgreSQL reported itself leaves the connection as it was. */
function isOfConnection(error: unknown): error is Error {
  return error instanceof Error && !('severity' in error && error.severity === 'ERROR');
}
