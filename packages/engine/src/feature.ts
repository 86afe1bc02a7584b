import type { ReceivedEvent } from './log/received-event.ts';
import type { Database } from './postgres/database.ts';
import type { FeatureSchema } from './postgres/prepare.ts';
import type { ReconcileServices } from './repair/reconcile/progress.ts';
import type { Job, MaintenanceMode } from './repair/worker.ts';
import type { Logger } from './runtime/logging.ts';
import type { StripeApi } from './stripe/api.ts';
import type { Mode } from './stripe/key-kind.ts';

/** What a feature can do once the engine is open. */
export type EngineServices = ReconcileServices & {
  readonly api: StripeApi;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

/** What there is before the first event. */
export type LinkServices = {
  readonly database: Pick<Database, 'transaction'>;
  readonly logger: Logger;
  /** The mode of the API key; `null`: unknown. */
  readonly keyMode: Mode | null;
  /** How long an event has. */
  readonly deadlineMs: number;
};

/** What plugs into the engine, which knows no feature by name. */
export type Feature = Pick<FeatureSchema, 'name'> &
  Partial<FeatureSchema> & {
    /** Makes what can give the customer of a stored event a team, if it has none. That resolves with whether it did. */
    readonly onUnlinked?: (services: LinkServices) => (event: ReceivedEvent) => Promise<boolean>;
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
