import type { Entrant } from '../contestants/entrant.ts';
import { lastContents } from '../load/subscription-event.ts';

/** What the database lacks of all events that were acknowledged; a fast wrong answer is no answer. */
export async function auditEvents(entrant: Entrant): Promise<string[]> {
  const { contestant, database, teams, eventsSent } = entrant;
  const problems: string[] = [];
  const logged = await contestant.countLogged?.(database.ask);
  if (logged !== undefined && logged !== eventsSent) {
    problems.push(`${logged} events are logged of ${eventsSent}`);
  }
  const told = await contestant.readCustomers(database.ask);
  const wrong = lastContents(eventsSent, teams).filter(
    (content) => content !== null && told.get(content.customerId) !== contestant.expect(content),
  );
  const [first] = wrong;
  if (first !== undefined && first !== null) {
    const { customerId } = first;
    const seen = `${customerId} is '${told.get(customerId)}', not '${contestant.expect(first)}'`;
    problems.push(`${wrong.length} customers are not what their last event says: ${seen}`);
  }
  return problems;
}
