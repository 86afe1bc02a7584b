import { lastContents } from '../load/subscription-event.ts';
import type { PreparedSystem } from '../systems/prepared-system.ts';

/** Compares the database with all acknowledged events, because a fast wrong response is worthless. */
export async function auditEvents(prepared: PreparedSystem): Promise<string[]> {
  const { system, database, teams, eventsSent } = prepared;
  const problems: string[] = [];
  const logged = await system.countLogged?.(database.ask);
  if (logged !== undefined && logged !== eventsSent) {
    problems.push(`${logged} of ${eventsSent} events are logged`);
  }
  const actual = await system.readCustomers(database.ask);
  const wrong = lastContents(eventsSent, teams).filter(
    (content) => content !== null && actual.get(content.customerId) !== system.expect(content),
  );
  const [first] = wrong;
  if (first !== undefined && first !== null) {
    const { customerId } = first;
    const seen = `${customerId} is '${actual.get(customerId)}', not '${system.expect(first)}'`;
    problems.push(`${wrong.length} customers differ from their last event: ${seen}`);
  }
  return problems;
}
