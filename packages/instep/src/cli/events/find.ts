import { findEvents, readEventAt } from '../../event-log/search.ts';
import type { EventRow } from '../../event-log/search-events.ts';
import type { Query } from '../../postgres/database.ts';
import { InstepError } from '../../runtime/errors.ts';
import { NotFound } from '../not-found.ts';
import { printable } from '../output.ts';
import { shownTime } from './format.ts';

/** Several events have the id, so only a position identifies one of them. */
class EventAmbiguous extends InstepError {
  readonly code = 'EVENT_AMBIGUOUS';
}

const SHOWN = 20;

/**
 * Finds an event by its position in the log, which is a whole number, or by its id.
 *
 * @throws NotFound or EventAmbiguous
 */
export async function findEvent(query: Query, text: string): Promise<EventRow> {
  const position = /^\d+$/.test(text) ? Number(text) : null;
  if (position !== null) {
    const found = Number.isSafeInteger(position) ? await readEventAt(query, position) : null;
    if (found === null) throw new NotFound(`there is no event at position ${text}`);
    return found;
  }
  const found = await findEvents(query, text);
  const [event] = found;
  if (event === undefined) throw new NotFound(`no event in the log has the id ${printable(text)}`);
  if (found.length === 1) return event;
  const lines = found
    .slice(-SHOWN)
    .map((one) => `  ${one.position}  ${shownTime(one.receivedAtMs)}  ${one.outcome}`);
  throw new EventAmbiguous(
    `${found.length} events have the id ${printable(text)}: give the position of one of them\n` +
      lines.join('\n'),
  );
}
