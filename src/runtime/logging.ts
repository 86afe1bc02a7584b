import { styleText } from 'node:util';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { InstepError } from './errors.ts';
import { createLogOutput } from './log-output.ts';
import { activeSpan } from './tracing.ts';

export type { Logger } from 'pino';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/**
 * A logger that writes one JSON line per entry, to standard output by default. Text from outside is
 * escaped, so that it can't forge a line.
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
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    hooks: { streamWrite: escapeControls },
    mixin: traceOfLine,
  };
  return pino(options, destination ?? standardOutput);
}

/** Which span a line was written in, so that one leads to the other. */
function traceOfLine(): object {
  const span = activeSpan();
  if (span === undefined) return {};
  const { traceId, spanId } = span.spanContext();
  return { traceId, spanId };
}

/** Created with the first line: a process that logs elsewhere keeps its standard output as it is. */
const standardOutput: DestinationStream = {
  write(line) {
    logOutput ??= createLogOutput();
    logOutput.write(line);
  },
};

let logOutput: DestinationStream | undefined;

/**
 * JSON leaves these as they are, but some readers end a line at them, and terminals obey some of
 * them. Within JSON they stand in strings only.
 */
function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An error as a log shows it. Members beyond these stay out: some of them quote payloads. */
function describeError(error: unknown): unknown {
  return describe(error, !(error instanceof InstepError));
}

/** An expected error needs no stack in the log, only its name, message and cause. */
function describe(error: unknown, withStack: boolean): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  return {
    name: error.name,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message: error.message,
    ...(error.cause instanceof Error && { cause: describe(error.cause, withStack) }),
    ...(withStack && { stack: error.stack }),
  };
}

const COLORS = { fatal: 'red', error: 'red', warn: 'yellow', info: 'green' } as const;

/** The same lines for a person at a terminal: time, level, message, and the rest as `name=value`. */
export function prettyLines(write: (text: string) => void): DestinationStream {
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
