import type { Query } from '../postgres/database.ts';
import { type FoundProblem, storeFindings } from '../postgres/statements/findings.ts';
import { Batcher } from '../runtime/batcher.ts';
import { pause } from '../runtime/pause.ts';
import type { PlanChange } from './apply-batch.ts';

const MAX_BATCH = 500;
const MAX_QUEUED = 1_000;
const PAUSE_MS = 1_000;

/**
 * Stores the plans that the database refused for the operators, with at most one statement per second, so
 * that a constraint that refuses every plan does not slow down the events of other teams.
 */
export class RefusedPlans {
  #batcher: Batcher<FoundProblem, undefined>;

  constructor(query: Query) {
    this.#batcher = new Batcher({
      name: 'store refused plans',
      maxBatch: MAX_BATCH,
      maxQueued: MAX_QUEUED,
      async run(refused) {
        const newest = new Map(refused.map((one) => [one.teamId, one]));
        const customerIds = refused.map(({ customerId }) => customerId);
        await storeFindings(query, customerIds, [...newest.values()], ['plan refused']);
        await pause(PAUSE_MS, { ref: false });
        return refused.map(() => undefined);
      },
    });
  }

  /** Returns immediately. A plan that can't be stored is noted again when Stripe sends its event again. */
  note(changes: readonly PlanChange[], createdSeconds: number): void {
    for (const { team, shouldBe } of changes) {
      const { id: teamId, customerId, plan } = team;
      const refused = { problem: 'plan refused', teamId, customerId, plan, shouldBe } as const;
      this.#batcher.add({ ...refused, beganSeconds: createdSeconds }).catch(() => undefined);
    }
  }
}
