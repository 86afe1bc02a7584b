import { InvalidArgumentError } from 'commander';
import { positiveInteger } from 'instep/src/cli/arguments.ts';
import { expect, test } from 'vitest';

test('accepts whole numbers from 1 to 2147483647', () => {
  expect(positiveInteger('1')).toBe(1);
  expect(positiveInteger('2147483647')).toBe(2_147_483_647);
});

test.each(['0', '-1', '+1', '1.0', '1e3', '0x10', ' 1', '1 ', '', 'ada', '2147483648', '١'])(
  'rejects "%s"',
  (text) => {
    expect(() => positiveInteger(text)).toThrow(InvalidArgumentError);
  },
);
