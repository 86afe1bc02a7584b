import type { FeatureSchema } from './postgres/prepare.ts';
import type { ReconcileServices } from './repair/reconcile/compare-customer.ts';
import type { Job, MaintenanceMode } from './repair/worker.ts';
import type { StripeApi } from './stripe/api.ts';
import type { Mode } from './stripe/key-kind.ts';

/** What a feature can do once the engine is open. */
export type EngineServices = ReconcileServices & {
  readonly api: StripeApi;
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

/** What plugs into the engine, which knows no feature by name. */
export type Feature = Pick<FeatureSchema, 'name'> &
  Partial<FeatureSchema> & {
    /** Is called once, before anything is served. It must not reject. */
    readonly start?: (services: EngineServices) => Promise<void>;
    /** The jobs of maintenance. They are loaded when the first of them runs. */
    readonly jobs?: (
      services: EngineServices,
      mode: MaintenanceMode,
    ) => readonly Job[] | Promise<readonly Job[]>;
    /** Jobs that come and go, with `maintenance: 'on-demand'`. */
    readonly jobsOnDemand?: () => readonly Job[];
    /** Stops what the feature does in the background. It can be called again. */
    readonly stop?: () => Promise<void>;
    /** Stores what the feature has in memory, when the engine closes. */
    readonly close?: () => Promise<void>;
  };
