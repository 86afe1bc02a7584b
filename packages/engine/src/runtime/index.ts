// `instep-engine/runtime`: errors, deadlines, logging and traces.

export {
  counted,
  countText,
  durationSetting,
  durationText,
  parseDuration,
} from './amounts.ts';
export { QueueFull } from './batcher.ts';
export { BoundedCache } from './bounded-cache.ts';
export { abortAfter, DeadlineExceeded, withDeadline } from './deadline.ts';
export { CodedError, codeOf, errorText, InstepError } from './errors.ts';
export { type Instrumentation, NO_INSTRUMENTATION } from './instrumentation.ts';
export {
  createLogger,
  type LogDestination,
  type Logger,
  type LogLevel,
  limitLines,
  type WriteLine,
} from './logging.ts';
export { pause, type RetryPolicy, retry, Stopped } from './retry.ts';
