import type { SubscriptionChange, SubscriptionEvent } from './subscription-event.ts';

/** Events by subscription and second, in the order of their arrival. */
export class EventHistory {
  readonly #seconds = new Map<string, SubscriptionChange[]>();

  constructor(changes: Iterable<SubscriptionChange> = []) {
    for (const change of changes) this.add(change);
  }

  /** Adds an event as the last arrival of its second. One that is known keeps its place. */
  add(change: SubscriptionChange): void {
    const id = idOf(change.subscription);
    const second = this.#seconds.get(id) ?? [];
    const index = second.findIndex(({ key }) => key === change.key);
    if (index === -1) second.push(change);
    else second[index] = change;
    this.#seconds.set(id, second);
  }

  /** The events of the same subscription and second. */
  secondOf(event: SubscriptionEvent): readonly SubscriptionChange[] {
    return this.#seconds.get(idOf(event)) ?? [];
  }
}

/** No id contains NUL, so no two pairs of ids look the same. */
function idOf({ customerId, subscriptionId, createdSeconds }: SubscriptionEvent): string {
  return [customerId, subscriptionId ?? '', createdSeconds].join('\0');
}
