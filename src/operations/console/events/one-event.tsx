import { type Context, Hono } from 'hono';
import { explainEvent } from '../../../event-log/explain-event.ts';
import { type Replayed, replayEvents } from '../../../event-log/replay.ts';
import { readEventAt } from '../../../event-log/search.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import type { ConsoleOptions } from '../options.ts';
import { notFound } from '../problems.ts';
import { queryNumber } from '../query-text.ts';
import { EventPage } from './event-page.tsx';

/** So many events before and after it tell why it was decided so. */
const MAX_AROUND = 250;

/** `/events/:position`: one event, what was decided on it and why; and Replay. */
export function oneEventPages({ database, ingest, planSelection }: ConsoleOptions): Hono {
  const { query } = database;
  const app = new Hono();

  async function found(context: Context): Promise<EventRow> {
    const position = queryNumber(context.req.param('position'));
    const event = position === null ? null : await readEventAt(query, position);
    if (event === null) {
      throw notFound('There is no event at this position. It may have been pruned from the log.');
    }
    return event;
  }

  async function show(context: Context, event: EventRow, replayed: Replayed | null) {
    const explained = await explainEvent(query, event, planSelection, MAX_AROUND);
    return context.html(<EventPage event={event} explained={explained} replayed={replayed} />);
  }

  app.get('/:position', async (context) => show(context, await found(context), null));

  app.post('/:position/replay', async (context) => {
    const event = await found(context);
    let last: Replayed | null = null;
    for await (const replayed of replayEvents(only(event), { ingest, query })) last = replayed;
    return show(context, await found(context), last);
  });

  app.get('/:position/body', async (context) => {
    const { body, position } = await found(context);
    return context.body(new Uint8Array(body), 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="event-${position}.json"`,
    });
  });

  return app;
}

async function* only(event: EventRow): AsyncGenerator<EventRow> {
  yield event;
}
