import type { LoggedOutcome } from '../store/events.ts';
import type { ReadableEvent, UnreadableEvent } from '../stripe/parse-event.ts';

/** A signed event of one of the two types, on its way through the one door. */
export type ReceivedEvent = (ReadableEvent | UnreadableEvent) & {
  readonly body: Uint8Array;
  readonly receivedAtMs: number;
};

/** What came of an event, and whom it concerned. */
export type Result = {
  readonly outcome: LoggedOutcome | 'duplicate';
  readonly teamIds: readonly number[];
};
