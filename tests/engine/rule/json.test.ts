import { asObject } from 'instep-engine/rule';
import { expect, test } from 'vitest';

test('only a JSON object is an object, not a list, null or a missing value', () => {
  const object = { id: 'sub_1' };
  expect(asObject(object)).toBe(object);
  for (const other of [['sub_1'], null, 'sub_1', 7, true, undefined]) {
    expect(asObject(other)).toBeNull();
  }
});
