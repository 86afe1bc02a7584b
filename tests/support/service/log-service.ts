import type { SubscriptionEventFields } from 'instep/testing';
import { addTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { runInstep } from '../process/instep-process.ts';
import { eventBody, received } from '../stripe/events.ts';
import { openPipeline } from './pipelines.ts';

/** A database with events in its log, and the command `instep events` on it. */
export async function openLog() {
  const { url, database } = await createDatabase();
  const ingest = openPipeline(database, async () => 'Pro');
  return {
    database,
    databaseUrl: url.href,
    addTeam: (customerId: string) => addTeam(database.query, { name: 'Team', customerId }),

    /** Ingests an event. */
    deliver: (fields: Partial<SubscriptionEventFields>) =>
      ingest([received(eventBody(fields), Date.now())]),

    /** Ingests any body. */
    deliverBody: (body: string) => ingest([received(body, Date.now())]),

    /** The position of the event with this id. */
    async positionOf(eventId: string): Promise<number> {
      const [row] = await database.query<{ position: number }>(
        'select position from instep.events where event_id = $1',
        [eventId],
      );
      return row?.position ?? 0;
    },

    events: (args: readonly string[]) => runInstep(['events', ...args], { DATABASE_URL: url.href }),
  };
}

/** The JSON lines in a command's output. */
export function jsonLines<Line = Record<string, unknown>>(stdout: string): Line[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}
