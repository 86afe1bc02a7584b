import type { SubscriptionEvent } from '../../../core/subscription-event.ts';
import type { EventRow } from '../../../queries/search-events.ts';
import { changeOf } from '../../../stripe/logged-event.ts';

/** What an event said of its subscription; `null` when it was unreadable. */
export function saidBy(event: EventRow): SubscriptionEvent | null {
  return event.outcome === 'unreadable' ? null : (changeOf(event)?.subscription ?? null);
}
