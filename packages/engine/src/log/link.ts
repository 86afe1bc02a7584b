// Links a customer to a team, each in a transaction of its own.

import type { ApplicationId } from '../postgres/application.ts';
import type { Database } from '../postgres/database.ts';
import { DatabaseBusy } from '../postgres/errors.ts';
import { type LinkRefusal, linkAvailableTeam } from '../postgres/statements/link-teams.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import { pause } from '../runtime/retry.ts';

/** Another transaction that links the same customer or team is over soon. */
const PAUSE_MS = 20;

/**
 * Links a team without a customer to a customer without a team. A crash before the customer's plan is written leaves an
 * empty team, which is settled.
 *
 * @throws DatabaseRefused when the application refuses the link; DatabaseBusy after the deadline
 */
export async function linkWhenFree(
  database: Pick<Database, 'transaction'>,
  { teamId, customerId }: { readonly teamId: ApplicationId; readonly customerId: string },
  deadlineMs: number,
): Promise<'linked' | LinkRefusal> {
  const startedAtMs = performance.now();
  for (;;) {
    try {
      const result = await database.transaction((query) =>
        linkAvailableTeam(query, teamId, customerId),
      );
      if (result !== 'locked') return result;
    } catch (error) {
      if (!(error instanceof DatabaseBusy)) throw error;
    }
    if (performance.now() - startedAtMs > deadlineMs) {
      const cause = new DeadlineExceeded(deadlineMs);
      throw new DatabaseBusy('another transaction has locked the team, or links it', { cause });
    }
    await pause(PAUSE_MS);
  }
}
