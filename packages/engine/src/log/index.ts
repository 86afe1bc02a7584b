// `instep-engine/log`: the log and its queues.

export { decide, type SettleOptions } from './decide.ts';
export { EventLog, type EventLogOptions } from './event-log.ts';
export type { Queued } from './event-queues.ts';
export {
  EVENT_ROW,
  type EventRow,
  type Page,
  type PositionRange,
  readEvents,
  readEventsAt,
  type SortOrder,
} from './event-rows.ts';
export {
  type IngestResult,
  LOGGED_OUTCOMES,
  type LogEvent,
  type LoggedEvent,
  type LoggedOutcome,
} from './log-event.ts';
export { parseAgain, parseLogged, readableEventOf } from './parse-logged.ts';
export { type Ingest, IngestPipeline, type Settle } from './pipeline.ts';
export type { StoredCustomer, StoredTeam, Waiting } from './read-customers.ts';
export type { LoggedEvents } from './read-events.ts';
