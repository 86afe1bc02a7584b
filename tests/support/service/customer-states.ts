import { ambiguousReport } from 'instep-engine/rule';
import type { Query } from '../internals/database.ts';
import { readStates } from '../internals/rows.ts';

/** Whether events of one second leave open which came last. */
export async function hasUnknownOrder(query: Query, customerId: string): Promise<boolean> {
  const states = await readStates(query, [customerId]);
  return ambiguousReport(states.of(customerId)) !== null;
}
