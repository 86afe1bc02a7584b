// What goes into the ingest pipeline, and what comes out of it. An event is a `StripeEvent` once it is parsed, a
// `ReceivedEvent` with its body, a `ParsedEvent` for the ordering rule, a `LogEntry` when it is written to the log, and
// a `LoggedEvent` when it is read from there.

import type { ApplicationId } from '../core/application.ts';
import type { LoggedOutcome } from '../core/subscription-event.ts';
import type { LinkRefusal } from '../postgres/statements/lock-teams.ts';
import type { ActingOperator, PlanChangeCause } from '../postgres/statements/plan-changes.ts';
import type { ReadableEvent, UnreadableEvent } from '../stripe/parse-event.ts';
import type { SnapshotEvent } from '../stripe/subscription-snapshot.ts';

/** An event for the ingest pipeline. */
export type ReceivedEvent = (ReadableEvent | UnreadableEvent | SnapshotEvent) & {
  readonly body: Uint8Array;
  readonly receivedAtMs: number;
  /**
   * `delivery`: Stripe sent it. `list`: Stripe's API listed it. `log`: it comes from Instep itself, as a
   * replayed event or a snapshot. Only `delivery` counts as a delivery.
   */
  readonly source: 'delivery' | 'log' | 'list';
  /**
   * The id of the team of a completed checkout. It is linked to the event's customer in the transaction of the event, if
   * neither has another one.
   */
  readonly linkToTeamId?: ApplicationId;
  /** The cause of the changes that it makes, if that is not the event or the snapshot itself. */
  readonly changeCause?: PlanChangeCause;
  /** The operator who processes it. */
  readonly operator?: ActingOperator | null;
  /** The name of its product, if the pipeline found it before the transaction. */
  readonly productName?: string | null;
};

/** The outcome of an event, and the teams that have its customer. */
export type IngestResult = {
  readonly outcome: LoggedOutcome | 'duplicate';
  readonly teamIds: readonly ApplicationId[];
  /** The teams whose plan stays, because the application wrote it and nothing contradicts it. */
  readonly keptTeamIds?: readonly ApplicationId[];
  /** Why `linkToTeamId` was not linked. The event has then changed nothing, and is not in the log. */
  readonly linkRefusal?: LinkRefusal;
};
