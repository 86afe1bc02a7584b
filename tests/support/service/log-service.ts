import type { SubscriptionEventFields } from 'instep/testing';
import { beforeAll } from 'vitest';
import type { Database } from '../internals/database.ts';
import type { Ingest } from '../internals/ingest.ts';
import { addTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { runInstep } from '../process/instep-process.ts';
import { eventBody, received } from '../stripe/events.ts';
import { openPipeline } from './pipelines.ts';

/** A database with events in its log, and the command `instep events` on it. */
export function useLog() {
  let database: Database;
  let ingest: Ingest;
  let url: string;
  beforeAll(async () => {
    const created = await createDatabase();
    database = created.database;
    url = created.url.href;
    ingest = openPipeline(database, async () => 'Pro');
  });

  return {
    get database() {
      return database;
    },
    get databaseUrl() {
      return url;
    },

    addTeam: (customerId: string) => addTeam(database.query, { name: 'Team', customerId }),

    /** Ingests an event, as if it had been received at that time. */
    async deliver(
      fields: Partial<SubscriptionEventFields>,
      receivedAtMs = Date.now(),
    ): Promise<void> {
      await ingest([received(eventBody(fields), receivedAtMs)]);
    },

    /** Ingests any body. */
    async deliverBody(body: string): Promise<void> {
      await ingest([received(body, Date.now())]);
    },

    /** The position of the event with this id. */
    async positionOf(eventId: string): Promise<number> {
      const [row] = await database.query<{ position: number }>(
        'select position from instep.events where event_id = $1',
        [eventId],
      );
      return row?.position ?? 0;
    },

    events: (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
      runInstep(['events', ...args], { DATABASE_URL: url, ...environment }),
  };
}

/** The JSON lines in a command's output. */
export function jsonLines(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
