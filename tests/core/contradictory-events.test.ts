import { decidingEventsOf } from 'instep/src/core/ordering-rule.ts';
import { expect, test } from 'vitest';

test('140 contradictory events in five seconds are not searched again and again', () => {
  const STATUSES = ['active', 'unpaid', 'trialing'];
  let reads = 0;
  const changes = Array.from({ length: 140 }, (_, index) => {
    const createdSeconds = 1_000 + Math.floor(index / 28);
    const status = `${STATUSES[index % 3]}`;
    return {
      key: `${createdSeconds.toString(16).padStart(8, '0')}-0000-0000-0000-${index}`,
      subscription: {
        customerId: 'cus_1',
        subscriptionId: 'sub_1',
        status,
        productId: 'prod_1',
        planName: null,
        createdSeconds,
      },
      object: { status },
      get previousAttributes() {
        reads += 1;
        return { status: `${STATUSES[(index + 1) % 3]}` };
      },
      isDeletion: false,
      isSnapshot: false,
      seenKeys: null,
    };
  });
  const [state] = decidingEventsOf(changes, 'newest').values();
  expect(state).toMatchObject({ order: 'ambiguous', subscription: changes.at(-1)?.subscription });
  expect(reads).toBeLessThan(20_000);
});
