import { describeIssue } from 'instep/src/cli/reconcile.ts';
import { NO_PLAN } from 'instep/src/core/transition.ts';
import { expect, test } from 'vitest';

test('names all subscriptions of a drift, and then its cause', () => {
  const line = describeIssue({
    kind: 'drift',
    teamId: 7,
    customerId: 'cus_1',
    cause: 'missed event',
    subscriptionIds: ['sub_a', 'sub_b'],
    sinceSeconds: null,
    is: NO_PLAN,
    shouldBe: { ...NO_PLAN, planName: 'Pro' },
    isRepaired: false,
    isDismissed: false,
  });
  expect(line).toBe('team 7 (cus_1): planName - → Pro (sub_a, sub_b: missed event)');
});
