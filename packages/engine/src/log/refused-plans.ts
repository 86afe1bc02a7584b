import type { Query } from '../postgres/database.ts';
import { type FoundIssue, storeIssues } from '../postgres/statements/issues.ts';
import { Batcher } from '../runtime/batcher.ts';
import { pause } from '../runtime/retry.ts';

const MAX_BATCH = 500;
const MAX_REFUSED_PLANS = 1_000;
const REFUSED_PLANS_PAUSE_MS = 1_000;

/**
 * Stores issues about plans that the app's database refused, with at most one statement per second, so that a constraint
 * that refuses every plan does not slow down the events of other teams.
 */
export class RefusedPlans {
  #batcher: Batcher<FoundIssue, undefined>;

  constructor(query: Query) {
    this.#batcher = new Batcher({
      name: 'store refused plans',
      maxBatch: MAX_BATCH,
      maxQueued: MAX_REFUSED_PLANS,
      async run(refused) {
        const lastByTeam = new Map(refused.map((issue) => [issue.teamId, issue]));
        const customerIds = refused.map(({ customerId }) => customerId);
        await storeIssues(query, customerIds, [...lastByTeam.values()], ['plan refused']);
        await pause(REFUSED_PLANS_PAUSE_MS, { ref: false });
        return refused.map(() => undefined);
      },
    });
  }

  /** Returns immediately. A plan that can't be stored is added again when Stripe sends its event again. */
  add(
    refused: readonly Pick<FoundIssue, 'teamId' | 'customerId' | 'plan' | 'shouldBe'>[],
    beganSeconds: number | null,
    refusedBy: string | null,
  ): void {
    for (const one of refused) {
      const issue = { cause: 'plan refused', ...one, beganSeconds, refusedBy } as const;
      this.#batcher.add(issue).catch(() => undefined);
    }
  }
}
