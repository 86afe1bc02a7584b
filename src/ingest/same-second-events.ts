import type { LoggedOutcome } from '../core/logged-event.ts';
import type { SubscriptionChange, SubscriptionEvent } from '../core/subscription-event.ts';

/** An event that stands in the log already. */
export type KnownEvent = {
  readonly key: string;
  readonly outcome: LoggedOutcome;
  /** `null` for one that was unreadable. */
  readonly change: SubscriptionChange | null;
};

type Entry = { readonly key: string; readonly change: SubscriptionChange };

/** Events by subscription and second, in the order of their arrival. */
export class SameSecondEvents {
  readonly #entries = new Map<string, Entry[]>();

  constructor(logged: readonly KnownEvent[]) {
    for (const { key, change } of logged) if (change !== null) this.#place({ key, change });
  }

  /** All events of this subscription and second. */
  of(event: SubscriptionEvent): readonly Entry[] {
    return this.#entries.get(idOf(event)) ?? [];
  }

  /** All events of the event's subscription and second; itself last, unless it was there before. */
  with(event: SubscriptionChange & { readonly key: string }): readonly Entry[] {
    return this.#place({ key: event.key, change: event });
  }

  #place(entry: Entry): readonly Entry[] {
    const id = idOf(entry.change.subscription);
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
