import type { LoggedOutcome } from '../core/logged-event.ts';
import type { ReadableEvent, UnreadableEvent } from '../stripe/parse-event.ts';
import type { SnapshotEvent } from '../stripe/subscription-snapshot.ts';

/** An event on its way through the one door. */
export type ReceivedEvent = (ReadableEvent | UnreadableEvent | SnapshotEvent) & {
  readonly body: Uint8Array;
  readonly receivedAtMs: number;
  /**
   * `log` for one that stands in the log already: to apply it is no further delivery; `list` for one
   * that Stripe has told when it was asked, and has not delivered.
   */
  readonly source: 'delivery' | 'log' | 'list';
};

/** An event with the name of its product, as far as that was to be had before the transaction. */
export type NamedEvent = ReceivedEvent & { readonly productName: string | null };

/** What came of an event, and whom it concerned. */
export type Result = {
  readonly outcome: LoggedOutcome | 'duplicate';
  readonly teamIds: readonly number[];
};
