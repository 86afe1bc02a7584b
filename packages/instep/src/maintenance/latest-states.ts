import { NO_LATEST_STATES } from '../core/latest-state.ts';
import { NO_SUBSCRIPTIONS } from '../core/plan-selection.ts';
import { parseLog } from '../event-log/decisions.ts';
import { outdatedStates } from '../event-log/rebuild.ts';
import type { Database, Query } from '../postgres/database.ts';
import { noteDoubleBilled } from '../postgres/statements/double-billing.ts';
import { readEventsOfCustomer } from '../postgres/statements/events.ts';
import { lockAvailableTeams } from '../postgres/statements/lock-teams.ts';
import {
  noteStatesFromLog,
  readCustomers,
  readCustomersNotFromLog,
  writeSubscriptions,
} from '../postgres/statements/subscriptions.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Job, RetryLater } from './worker.ts';

/** A run takes at most this long, every second. */
const BUDGET_MS = 200;

const PAGE = 50;

type LatestStatesOptions = {
  readonly database: Database;
  readonly logger: Logger;
  readonly clockMs: () => number;
};

/**
 * Reads from the log what a migration could not know of older subscriptions: since when their status holds, and the
 * other columns of their latest states. Customers whose team is locked are left alone for a while.
 */
export function createLatestStatesJob({
  database,
  logger,
  clockMs,
}: LatestStatesOptions): Job['run'] {
  const later = new RetryLater({ logger, message: 'latest states not read' });

  return async (signal) => {
    const startedAtMs = clockMs();
    for (;;) {
      const due = { limit: PAGE, exceptIds: later.ids() };
      const customerIds = await readCustomersNotFromLog(database.query, due);
      if (customerIds.length === 0) return;
      for (const customerId of customerIds) {
        if (signal.aborted || clockMs() - startedAtMs > BUDGET_MS) return;
        const read = () =>
          database.transaction((query) => readLatestStatesFromLog(query, customerId));
        if (!(await later.attempt({ customerId }, read))) later.add(customerId);
      }
    }
  };
}

/**
 * Reads the latest states of a customer's subscriptions from the log, in place of the rows that a migration made. It
 * locks the customer's teams. Returns `false`, and does nothing, while another transaction has locked one.
 */
export async function readLatestStatesFromLog(query: Query, customerId: string): Promise<boolean> {
  const { lockedCustomerIds } = await lockAvailableTeams(query, [customerId]);
  if (lockedCustomerIds.has(customerId)) return false;
  // First, because it locks the rows, and a customer can get a team meanwhile. It also marks the row of a subscription
  // whose events are gone.
  await noteStatesFromLog(query, customerId);
  const log = parseLog(await readEventsOfCustomer(query, customerId));
  const { customers } = await readCustomers(query, [customerId]);
  const changes = log.map(({ change }) => change);
  const customer = customers.get(customerId) ?? NO_SUBSCRIPTIONS;
  await writeSubscriptions(query, [], outdatedStates(changes, customer, NO_LATEST_STATES, null));
  await noteDoubleBilled(query, [customerId]);
  return true;
}
