import { foldAll, type SubscriptionEvent } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';

test('140 contradictory events in five seconds are put in order within a bounded number of steps', () => {
  const STATUSES = ['active', 'unpaid', 'trialing'];
  let reads = 0;
  const events = Array.from({ length: 140 }, (_, index): SubscriptionEvent => {
    const createdSeconds = 1_000 + Math.floor(index / 28);
    return {
      ...eventOf({ status: `${STATUSES[index % 3]}`, createdSeconds }),
      get previousAttributes() {
        reads += 1;
        return { status: `${STATUSES[(index + 1) % 3]}` };
      },
    };
  });
  const deciding = foldAll(events).subscriptions.get('sub_1')?.deciding;
  expect(deciding).toMatchObject({
    isAmbiguous: true,
    reported: { status: events.at(-1)?.subscription.status },
  });
  expect(reads / events.length).toBeLessThan(1_000);
});
