import type { Feature } from 'instep-engine';
import type { MaintenanceMode } from 'instep-engine/repair';
import { PlanChangeConsumers } from './plan-change-feed.ts';
import { CHANGES_SCHEMA } from './schema.ts';

export type ChangesFeature = Feature & {
  /** The consumers of this process, once the engine is open. */
  consumers(): PlanChangeConsumers;
};

/** Passes on the changes of plans (docs/changes.md). */
export function changesFeature(mode: MaintenanceMode): ChangesFeature {
  const isOnDemand = mode === 'on-demand';
  let opened: PlanChangeConsumers | undefined;
  return {
    ...CHANGES_SCHEMA,
    async start({ database, logger, nonce }) {
      opened = new PlanChangeConsumers({ database, logger, holder: nonce(), isOnDemand });
    },
    consumers() {
      if (opened === undefined) throw new RangeError('the engine is not open');
      return opened;
    },
    jobsOnDemand: () => (isOnDemand ? (opened?.jobs() ?? []) : []),
    stop: async () => await opened?.stopAll(),
  };
}
