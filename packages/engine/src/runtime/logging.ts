// Log lines: their format, how they reach standard output, and a limit for lines that outsiders can cause.

import { errorText, InstepError } from './errors.ts';
import { activeSpan, outsideSpans } from './tracing.ts';

/** The lowest level that is written. */
export type LogLevel = (typeof LEVELS)[number];

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Writes a line, with its members before its message. */
export type WriteLine = {
  (members: object, message: string): void;
  (message: string): void;
};

/** A logger for Instep: `createLogger`, or any logger with these methods, such as pino. */
export type Logger = Readonly<Record<'debug' | 'info' | 'warn' | 'error' | 'fatal', WriteLine>>;

/**
 * A logger that writes one JSON line per entry, to standard output by default, in the format of pino. Text
 * from outside is escaped, so that it can't forge a line.
 *
 * @example
 * ```ts
 * import { createLogger } from 'instep';
 *
 * const lines: string[] = [];
 * const logger = createLogger('info', { write: (line) => lines.push(line) });
 * logger.info({ customerId: 'cus_123' }, 'team linked');
 * console.log(lines[0]); // {"level":"info","time":"…","customerId":"cus_123","msg":"team linked"}
 * ```
 */
export function createLogger(
  level: LogLevel,
  destination: LogDestination = standardOutput,
  now: () => number = Date.now,
): Logger {
  function writerOf(label: LogLevel): WriteLine {
    if (LEVELS.indexOf(label) < LEVELS.indexOf(level)) return () => undefined;
    return (first: object | string, second?: string) => {
      const [members, msg] = typeof first === 'string' ? [{}, first] : [first, second];
      const time = new Date(now()).toISOString();
      const line = { level: label, time, ...traceOfLine(), ...described(members), msg };
      destination.write(`${escapeControls(JSON.stringify(line))}\n`);
    };
  }

  return {
    debug: writerOf('debug'),
    info: writerOf('info'),
    warn: writerOf('warn'),
    error: writerOf('error'),
    fatal: writerOf('fatal'),
  };
}

/** The ids of the span in which a line is written, so that a reader can find one by the other. */
function traceOfLine(): object | undefined {
  const span = activeSpan();
  if (span === undefined) return undefined;
  const { traceId, spanId } = span.spanContext();
  return { traceId, spanId };
}

/** A reader that stalls loses the lines beyond this. */
const MAX_WAITING_BYTES = 1_048_576;

let waitingLines = '';
let isOpened = false;

/**
 * Never blocks the process, because Node writes to a pipe that is full when there is room again. Lines that arrive together
 * are written together: a write costs more than its lines.
 */
const standardOutput: LogDestination = {
  write(line) {
    if (!isOpened) openStandardOutput();
    if (waitingLines === '') setImmediate(writeWaitingLines);
    waitingLines += line;
  },
};

/** With the first line, so that a process that logs elsewhere keeps its standard output unchanged. */
function openStandardOutput(): void {
  isOpened = true;
  // The reader is gone, or the disk is full.
  process.stdout.on('error', () => undefined);
  process.once('exit', writeWaitingLines);
}

function writeWaitingLines(): void {
  const { stdout } = process;
  if (stdout.writableLength < MAX_WAITING_BYTES) stdout.write(waitingLines);
  waitingLines = '';
}

/**
 * Escapes characters that JSON allows, but at which some readers end a line, or that control a terminal. In
 * JSON they occur only within strings.
 */
function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The members, with a loggable form of an error. Other members of the error are left out, because some of
 * them quote payloads.
 */
function described(members: object): object {
  if (!('err' in members)) return members;
  const { err } = members;
  try {
    return { ...members, err: describe(err, !(err instanceof InstepError)) };
  } catch {
    // The app's code threw it, and reading its members throws again.
    return { ...members, err: { message: errorText(err) } };
  }
}

/** An error can be its own cause. */
const MAX_CAUSES = 5;

/** An expected error needs no stack in the log. Its code replaces its name, which a bundler can shorten. */
function describe(error: unknown, withStack: boolean, causes = MAX_CAUSES): unknown {
  const message = errorText(error);
  if (!(error instanceof Error)) return { message };
  return {
    ...(!(error instanceof InstepError) && { name: error.name }),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message,
    ...(error.cause instanceof Error &&
      causes > 0 && { cause: describe(error.cause, withStack, causes - 1) }),
    ...(withStack && { stack: error.stack }),
  };
}

/** The destination of log lines, each of which ends with a line feed. */
export type LogDestination = { write(line: string): void };

const FIRST_LINES = 10;
const INTERVAL_MS = 1_000;

/**
 * Limits log lines that outsiders can cause at any rate: `write` gets the first 10, and then, once a second,
 * the last one with the number of suppressed lines (`suppressed`). After a second without a suppressed
 * line, it gets 10 lines again.
 */
export function limitLines(write: (members: object) => void): (members: object) => void {
  let written = 0;
  let suppressed = 0;
  let lastMembers = {};
  let isIntervalRunning = false;

  function endInterval(): void {
    isIntervalRunning = false;
    if (suppressed === 0) {
      written = 0;
    } else {
      write({ ...lastMembers, suppressed });
      suppressed = 0;
      startInterval();
    }
  }

  /** A line for several requests belongs to no request's span. */
  function startInterval(): void {
    if (isIntervalRunning) return;
    isIntervalRunning = true;
    void outsideSpans(async () => setTimeout(endInterval, INTERVAL_MS).unref());
  }

  return (members) => {
    startInterval();
    if (written < FIRST_LINES) {
      written += 1;
      write(members);
    } else {
      suppressed += 1;
      lastMembers = members;
    }
  };
}
