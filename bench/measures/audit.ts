import { resultOfRenewals } from '../load/renewals.ts';
import { type EventContent, lastContents } from '../load/subscription-event.ts';
import type { PreparedSystem } from '../systems/prepared-system.ts';

type Audit = {
  readonly problems: readonly string[];
  /** The number of customers whose state is not that of their newest event. */
  readonly wrongCustomers: number;
};

/**
 * Compares the database with all acknowledged events, because a fast wrong response is worthless. Systems
 * that do not order events get late and repeated ones wrong, so their wrong customers are only counted.
 */
export async function auditEvents(prepared: PreparedSystem): Promise<Audit> {
  const { system, database, mix } = prepared;
  const problems: string[] = [];
  const { events, newest } = expectedOf(prepared);
  const logged = await system.countLogged?.(database.ask);
  if (logged !== undefined && logged !== events) {
    problems.push(`${logged} of ${events} events are logged`);
  }
  const actual = await system.readSubscriptions(database.ask);
  const wrong = newest.filter(
    (content) => actual.get(content.customerId) !== system.expect(content),
  );
  const [first] = wrong;
  if (first !== undefined && (mix === 'changes' || system.keepsOrder)) {
    const { customerId } = first;
    const seen = `${customerId} is '${actual.get(customerId)}', not '${system.expect(first)}'`;
    problems.push(`${wrong.length} customers differ from their last event: ${seen}`);
  }
  return { problems, wrongCustomers: wrong.length };
}

type Expected = { readonly events: number; readonly newest: readonly EventContent[] };

function expectedOf({ system, mix, eventsSent, teams }: PreparedSystem): Expected {
  if (mix === 'changes') {
    const newest = lastContents(eventsSent, teams).filter((content) => content !== null);
    return { events: eventsSent, newest };
  }
  const { events, newest } = resultOfRenewals(eventsSent, teams);
  return { events: system.keepsOrder ? events : eventsSent, newest };
}
