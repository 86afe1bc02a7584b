import type { CausedEvent } from '../core/same-second-order.ts';
import type { SubscriptionEvent } from '../core/subscription-event.ts';
import type { LoggedOutcome } from '../queries/events.ts';

/** An event that stands in the log already. */
export type LoggedEvent = {
  readonly key: string;
  readonly outcome: LoggedOutcome;
  /** `null` for one that was unreadable. */
  readonly caused: CausedEvent | null;
};

type Entry = { readonly key: string; readonly caused: CausedEvent };

/** Events by subscription and second, in the order of their arrival. */
export class SameSecondEvents {
  readonly #entries = new Map<string, Entry[]>();

  constructor(logged: readonly LoggedEvent[]) {
    for (const { key, caused } of logged) if (caused !== null) this.#place({ key, caused });
  }

  /** All events of this subscription and second. */
  of(event: SubscriptionEvent): readonly Entry[] {
    return this.#entries.get(idOf(event)) ?? [];
  }

  /** All events of the event's subscription and second; itself last, unless it was there before. */
  with(event: CausedEvent & { readonly key: string }): readonly Entry[] {
    return this.#place({ key: event.key, caused: event });
  }

  #place(entry: Entry): readonly Entry[] {
    const id = idOf(entry.caused.subscription);
    const entries = this.#entries.get(id) ?? [];
    const index = entries.findIndex(({ key }) => key === entry.key);
    if (index === -1) entries.push(entry);
    else entries[index] = entry;
    this.#entries.set(id, entries);
    return entries;
  }
}

/** No id holds NUL, so that no two pairs of ids look the same. */
function idOf({ customerId, subscriptionId, createdSeconds }: SubscriptionEvent): string {
  return [customerId, subscriptionId ?? '', createdSeconds].join('\0');
}
