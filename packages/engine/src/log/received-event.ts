// What goes into the ingest pipeline, and what comes out of it: the engine's, with what Instep adds.

import type { ApplicationId } from '../postgres/application.ts';
import type { ActingOperator, ChangeCause } from '../rule/plan-change.ts';
import type { ReadableEvent, UnreadableEvent } from '../stripe/parse-event.ts';
import type { SnapshotEvent } from '../stripe/subscription-snapshot.ts';
import type { LogEvent, LoggedOutcome, LogResult } from './log-event.ts';

/** An event for the ingest pipeline. */
export type ReceivedEvent = (ReadableEvent | UnreadableEvent | SnapshotEvent) &
  Pick<LogEvent, 'body' | 'receivedAtMs' | 'source'> & {
    /** The cause of the changes that it makes, if that is not the event or the snapshot itself. */
    readonly changeCause?: ChangeCause;
    /** The operator who processes it. */
    readonly operator?: ActingOperator | null;
    /** The name of its product, if the pipeline found it. */
    readonly productName?: string | null;
  };

/** The outcome of an event, and the teams that have its customer. */
export type IngestResult = Pick<LogResult, 'outcome'> & {
  /** Of a duplicate: the outcome of its first delivery. */
  readonly firstOutcome?: LoggedOutcome;
  readonly teamIds: readonly ApplicationId[];
  /** The teams whose plan stays, because the application wrote it and nothing contradicts it. */
  readonly keptTeamIds?: readonly ApplicationId[];
};
