import { createLogger, type LogLevel } from 'instep';
import { DatabaseRefused } from 'instep-engine/postgres';
import { expect, test } from 'vitest';

function openLogger(level: LogLevel = 'trace') {
  const written: string[] = [];
  return { written, logger: createLogger(level, { write: (line) => written.push(line) }) };
}

const FORGED = '\r\n{"level":"fatal"}\u001b[31m\u001b]0;x\u0007\0\u0085\u009b31m\u2028\u2029\u007f';

test("untrusted text stays within one line, and can't control a terminal", () => {
  const { written, logger } = openLogger();
  const cause = new TypeError(FORGED);
  const values = { eventId: FORGED, teamIds: [1], nested: { [FORGED]: FORGED } };
  logger.error({ ...values, err: cause }, 'event');
  const [line = ''] = written;
  expect(line.slice(0, -1)).not.toMatch(/\p{Cc}|[\u2028\u2029]/u);
  expect(line.at(-1)).toBe('\n');
  expect(JSON.parse(line)).toMatchObject(values);
});

test("logs only an error's name, code, message and cause, and the stack of an unexpected error", () => {
  const { written, logger } = openLogger();
  const payload = { detail: 'canary', internalQuery: 'canary' };
  const cause = Object.assign(new Error('violates a constraint'), { code: '23514', ...payload });
  logger.error({ err: new DatabaseRefused('refused', { cause }) }, 'request failed');
  logger.error({ err: Object.assign(new TypeError('of ours'), payload) }, 'request failed');
  logger.error({ err: 'no error at all' }, 'request failed');
  const [expected, unexpected, odd] = written.map((line) => JSON.parse(line).err);
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

test('writes a line for anything that can be thrown', () => {
  const { written, logger } = openLogger();
  const ownCause = new Error('its own cause');
  ownCause.cause = ownCause;
  const withObject = Object.assign(new Error(), { message: Object.create(null) });
  for (const err of [ownCause, withObject, Object.create(null), Symbol('odd'), undefined]) {
    logger.error({ err }, 'request failed');
  }
  const messages = written.map((line) => JSON.parse(line).err.message);
  const none = 'an error without a text';
  expect(messages).toEqual(['its own cause', none, none, 'Symbol(odd)', 'undefined']);
});

test('the level determines which lines are written', () => {
  const { written, logger } = openLogger('warn');
  logger.info('less');
  logger.warn('enough');
  expect(written.map((line) => JSON.parse(line).msg)).toEqual(['enough']);
});

test('a line has its level, time, members and message, in the format of pino', () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(line) }, () => 0);
  logger.info({ teamIds: [1], customerId: undefined }, 'event');
  logger.warn('not ready');
  const start = '"time":"1970-01-01T00:00:00.000Z"';
  expect(lines).toEqual([
    `{"level":"info",${start},"teamIds":[1],"msg":"event"}\n`,
    `{"level":"warn",${start},"msg":"not ready"}\n`,
  ]);
});
