// The engine's public API.

export { EventLog, type EventLogOptions } from './log/event-log.ts';
