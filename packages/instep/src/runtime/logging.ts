import { styleText } from 'node:util';
import { InstepError } from './errors.ts';
import { createLogOutput, type LogDestination } from './log-output.ts';
import { activeSpan } from './tracing.ts';

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
  /** Members of every line. */
  readonly common?: object | undefined;
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
  { common, now = Date.now }: LoggerOptions = {},
): Logger {
  function writerOf(label: LogLevel): WriteLine {
    if (LEVELS.indexOf(label) < LEVELS.indexOf(level)) return () => undefined;
    return (first: object | string, second?: string) => {
      const [members, msg] = typeof first === 'string' ? [{}, first] : [first, second];
      const time = new Date(now()).toISOString();
      const line = { level: label, time, ...common, ...traceOfLine(), ...described(members), msg };
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

/** Created with the first line, so that a process that logs elsewhere keeps its standard output unchanged. */
const standardOutput: LogDestination = {
  write(line) {
    logOutput ??= createLogOutput(Date.now);
    logOutput.write(line);
  },
};

let logOutput: LogDestination | undefined;

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

const COLORS = { fatal: 'red', error: 'red', warn: 'yellow', info: 'green' } as const;

/** Formats the lines for a person at a terminal: time, level, message, and the rest as `name=value`. */
export function prettyLines(write: (text: string) => void): LogDestination {
  return {
    write(line) {
      const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const color = COLORS[level as keyof typeof COLORS] ?? 'gray';
      const details = Object.entries(rest).map(
        ([name, value]) =>
          `${styleText('gray', `${name}=`)}${escapeControls(JSON.stringify(value))}`,
      );
      const clock = styleText('gray', String(time).slice(11, 23));
      const label = styleText(color, String(level).toUpperCase().padEnd(5));
      write(`${[clock, label, msg, ...details].join(' ')}\n`);
    },
  };
}
