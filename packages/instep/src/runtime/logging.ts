// Log lines: their format, a standard output that never blocks, and a limit for lines that outsiders can cause.

import { writeSync } from 'node:fs';
import { codeOf, InstepError } from './errors.ts';
import { activeSpan, outsideSpans } from './tracing.ts';

/** The lowest level that is written. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** Writes a line, with its members before its message. */
export type WriteLine = {
  (members: object, message: string): void;
  (message: string): void;
};

/** A logger for Instep: `createLogger`, or any logger with these methods, such as pino. */
export type Logger = Readonly<Record<'debug' | 'info' | 'warn' | 'error' | 'fatal', WriteLine>>;

export type LoggerOptions = {
  /** The current time in milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
};

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
  { now = Date.now }: LoggerOptions = {},
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

let logOutput: LogDestination | undefined;

/** Created with the first line, so that a process that logs elsewhere keeps its standard output unchanged. */
const standardOutput: LogDestination = {
  write(line) {
    logOutput ??= createLogOutput(Date.now);
    logOutput.write(line);
  },
};

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
  return { ...members, err: describe(err, !(err instanceof InstepError)) };
}

/** An expected error needs no stack in the log. Its code replaces its name, which a bundler can shorten. */
function describe(error: unknown, withStack: boolean): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    ...(!(error instanceof InstepError) && { name: error.name }),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message: error.message,
    ...(error.cause instanceof Error && { cause: describe(error.cause, withStack) }),
    ...(withStack && { stack: error.stack }),
  };
}

/** The destination of log lines, each of which ends with a line feed. */
export type LogDestination = { write(line: string): void };

const MAX_WAITING_BYTES = 1_048_576;
const RETRY_AFTER_MS = 50;
const FINAL_DEADLINE_MS = 1_000;
const FINAL_PAUSE_MS = 5;

/**
 * Standard output for log lines, which never blocks the process: if its reader stalls, about 1 MiB waits
 * here, and further lines are dropped and counted. Lines that arrive together are written together, because a
 * write costs more than its lines. At exit, the reader gets one more second.
 */
function createLogOutput(now: () => number): LogDestination {
  let lines = '';
  let chunk = Buffer.alloc(0);
  let dropped = 0;
  let isScheduled = false;

  // Node makes a pipe or a socket non-blocking when it creates this stream. A file never stalls.
  const { fd } = process.stdout;

  /** Writes as much as the reader accepts. @returns whether nothing is left */
  function flush(): boolean {
    for (;;) {
      if (chunk.length === 0) {
        // There is room again: report the dropped lines before the lines that followed them.
        if (dropped > 0) lines += droppedLine(dropped, now());
        dropped = 0;
        chunk = Buffer.from(lines);
        lines = '';
      }
      if (chunk.length === 0) return true;
      try {
        chunk = chunk.subarray(writeSync(fd, chunk));
      } catch (error) {
        if (codeOf(error) === 'EAGAIN') return false;
        // The reader is gone, or the disk is full.
        chunk = Buffer.alloc(0);
        return true;
      }
    }
  }

  function flushLater(): void {
    isScheduled = !flush();
    if (isScheduled) setTimeout(flushLater, RETRY_AFTER_MS).unref();
  }

  process.once('exit', () => {
    const giveUpAtMs = performance.now() + FINAL_DEADLINE_MS;
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    // Blocks the process, which has only the reader to wait for.
    while (!flush() && performance.now() < giveUpAtMs) Atomics.wait(nothing, 0, 0, FINAL_PAUSE_MS);
  });

  return {
    write(line) {
      if (chunk.length + lines.length > MAX_WAITING_BYTES) dropped += 1;
      else lines += line;
      if (!isScheduled) setImmediate(flushLater);
      isScheduled = true;
    },
  };
}

function droppedLine(dropped: number, nowMs: number): string {
  const time = new Date(nowMs).toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines dropped' })}\n`;
}

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
