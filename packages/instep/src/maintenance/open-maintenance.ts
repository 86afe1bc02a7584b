import { createOnDemandMaintenance, type Maintenance } from './on-demand.ts';
import { type LoadJobs, type MaintenanceOptions, startMaintenance } from './worker.ts';

/**
 * `background`: maintenance runs for as long as the process lives. `on-demand`: it runs after a webhook if
 * the framework supports that, and in calls of `runMaintenance`. `off`: it never runs, because another
 * process does it.
 */
export type MaintenanceMode = 'background' | 'on-demand' | 'off';

/** Delays loading the jobs' modules, so that the first requests do not wait for them. */
const STARTS_AFTER_MS = 500;

export function openMaintenance(
  mode: MaintenanceMode,
  loadJobs: LoadJobs,
  options: MaintenanceOptions,
): Maintenance {
  const onDemand = createOnDemandMaintenance(mode === 'off' ? async () => [] : loadJobs, options);
  if (mode !== 'background') return onDemand;
  const worker = startMaintenance(loadJobs, { ...options, startAfterMs: STARTS_AFTER_MS });
  return {
    runDue: onDemand.runDue,
    async stop() {
      await Promise.all([worker.stop(), onDemand.stop()]);
    },
  };
}
