import type { Query } from 'instep/src/postgres/database.ts';
import { readStates } from 'instep/src/postgres/statements/customers.ts';
import { ambiguousReport } from 'instep-engine';

/** Whether events of one second leave open which came last. */
export async function hasUnknownOrder(query: Query, customerId: string): Promise<boolean> {
  const states = await readStates(query, [customerId]);
  return ambiguousReport(states.of(customerId)) !== null;
}
