import { stripVTControlCharacters } from 'node:util';
import { DatabaseRefused } from 'instep/src/postgres/errors.ts';
import { createLogger, type LogLevel, prettyLines } from 'instep/src/runtime/logging.ts';
import { expect, test } from 'vitest';

/** Loggers with JSON lines and with lines for a person at a terminal. */
function loggers(level: LogLevel = 'trace') {
  const written = { json: '', pretty: '' };
  const write = (form: keyof typeof written) => (text: string) => {
    written[form] += text;
  };
  const both = [
    createLogger(level, { write: write('json') }),
    createLogger(level, prettyLines(write('pretty'))),
  ] as const;
  return { written, both };
}

const FORGED = '\r\n{"level":"fatal"}\u001b[31m\u001b]0;x\u0007\0\u0085\u009b31m\u2028\u2029\u007f';

test("untrusted text stays within one line, and can't control a terminal", () => {
  const { written, both } = loggers();
  const cause = new TypeError(FORGED);
  const values = { eventId: FORGED, teamIds: [1], nested: { [FORGED]: FORGED } };
  for (const logger of both) logger.error({ ...values, err: cause }, 'event');
  for (const text of [written.json, stripVTControlCharacters(written.pretty)]) {
    expect(text.slice(0, -1)).not.toMatch(/\p{Cc}|[\u2028\u2029]/u);
    expect(text.at(-1)).toBe('\n');
  }
  // Only the logger's own colors were removed.
  expect(written.pretty).not.toContain('\u001b]');
  expect(JSON.parse(written.json)).toMatchObject(values);
});

test('a line for a person contains everything that the JSON line contains', () => {
  const { written, both } = loggers();
  for (const logger of both) logger.warn({ eventId: 'evt_1', teamIds: [1, 2] }, 'team not found');
  const pretty = stripVTControlCharacters(written.pretty);
  expect(pretty).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}team not found eventId="evt_1" teamIds=\[1,2\]\n$/,
  );
});

test("logs only an error's name, code, message and cause, and the stack of an unexpected error", () => {
  const { written, both } = loggers();
  const payload = { detail: 'canary', internalQuery: 'canary' };
  const cause = Object.assign(new Error('violates a constraint'), { code: '23514', ...payload });
  both[0].error({ err: new DatabaseRefused('refused', { cause }) }, 'request failed');
  both[0].error({ err: Object.assign(new TypeError('of ours'), payload) }, 'request failed');
  both[0].error({ err: 'no error at all' }, 'request failed');
  const [expected, unexpected, odd] = written.json
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).err);
  expect(expected).toEqual({
    code: 'DATABASE_REFUSED',
    message: 'refused',
    cause: { name: 'Error', code: '23514', message: 'violates a constraint' },
  });
  expect(unexpected).toEqual({
    name: 'TypeError',
    message: 'of ours',
    stack: expect.stringMatching(/^TypeError: of ours\n +at /),
  });
  expect(odd).toEqual({ message: 'no error at all' });
});

test('the level determines which lines are written', () => {
  const { written, both } = loggers('warn');
  for (const logger of both) {
    logger.info('less');
    logger.warn('enough');
  }
  expect(written.json).not.toContain('less');
  expect(written.json).toContain('enough');
});

test('a line has its level, time, members and message, in the format of pino', () => {
  const lines: string[] = [];
  const options = { now: () => 0 };
  const logger = createLogger('info', { write: (line) => lines.push(line) }, options);
  logger.info({ teamIds: [1], customerId: undefined }, 'event');
  logger.warn('not ready');
  const start = '"time":"1970-01-01T00:00:00.000Z"';
  expect(lines).toEqual([
    `{"level":"info",${start},"teamIds":[1],"msg":"event"}\n`,
    `{"level":"warn",${start},"msg":"not ready"}\n`,
  ]);
});
