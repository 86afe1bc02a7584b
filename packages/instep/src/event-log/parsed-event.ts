import type { LoggedEvent } from '../core/logged-event.ts';
import type { SubscriptionChange } from '../core/subscription-event.ts';
import { changeOf } from '../stripe/parse-logged-event.ts';

/** A logged event and what its body says about a subscription. */
export type ParsedEvent<Row extends LoggedEvent> = {
  readonly event: Row;
  readonly change: SubscriptionChange;
};

/** Parses the body of each event once, and drops those that can't be read. */
export function parseLog<Row extends LoggedEvent>(log: readonly Row[]): ParsedEvent<Row>[] {
  return log.flatMap((event) => {
    const change = changeOf(event);
    return change === null ? [] : [{ event, change }];
  });
}
